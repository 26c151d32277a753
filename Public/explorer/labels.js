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
export function labelsOf({ name: entity, attributes }) {
  const texts = attributes.filter(({ type }) => type === 'string');
  const find = (list) => list.map((name) => texts.find((each) => plain(each.name) === name)).find(Boolean);
  const [whole, given, family] = [find(names), find(first), find(last)];
  if (!whole && given && family) return [given.name, family.name];
  const own = texts.find((each) => plain(each.name) === `${plain(entity)}name`);
  const ending = own ?? texts.find((each) => /(name|title)$/.test(plain(each.name)));
  const unique = texts.find((each) => each.unique);
  const short = texts.find((each) => !long.test(plain(each.name)));
  const found = whole ?? find(titles) ?? ending ?? find(['text']) ?? unique ?? family ?? given ?? short ?? texts[0];
  return found ? [found.name] : [];
}
