// The name of a row: the columns that people know it by.

const names = ['name', 'fullname', 'displayname'];
const titles = ['title', 'label', 'subject', 'username'];
const first = ['firstname', 'givenname', 'forename'];
const last = ['lastname', 'surname', 'familyname'];
/** Long texts describe a row rather than name it. */
const long = /^(description|summary|comment|remark|note|bio|body|content)s?$/;

const plain = (name) => name.toLowerCase().replace(/[_\s-]/g, '');

/**
 * The names of the attributes that name a row: `name` itself, first and last name together, `title`
 * and similar, a column that ends in one of these words, a unique text, else the first short text.
 */
export function labelsOf(entity) {
  const { known, any } = candidates(entity);
  return known.length > 0 ? known : any;
}

/** True if a row is called by any of its texts, which may be the same for many rows. */
export const isGuess = (entity) => candidates(entity).known.length === 0;

function candidates({ name: entity, attributes }) {
  const texts = attributes.filter(({ type }) => type === 'string');
  const find = (list) => list.map((name) => texts.find((each) => plain(each.name) === name)).find(Boolean);
  const [whole, given, family] = [find(names), find(first), find(last)];
  if (!whole && given && family) return { known: [given.name, family.name] };
  const own = texts.find((each) => plain(each.name) === `${plain(entity)}name`);
  const ending = own ?? texts.find((each) => /(name|title)$/.test(plain(each.name)));
  const unique = texts.find((each) => each.unique);
  const short = texts.find((each) => !long.test(plain(each.name)));
  const known = whole ?? find(titles) ?? ending ?? find(['text']) ?? unique ?? family ?? given;
  const list = (found) => (found ? [found.name] : []);
  return { known: list(known), any: list(short ?? texts[0]) };
}
