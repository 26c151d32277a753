// The token of this tab: kept until the tab is closed or the user signs out, and what it may do.

const key = 'livefetch-token';

export function token() {
  try { return sessionStorage.getItem(key); } catch { return null; }
}

export function keep(value) {
  sessionStorage.setItem(key, value);
}

export function signOut() {
  sessionStorage.removeItem(key);
}

/**
 * The scopes of a token: `{read, write, admin}`. Each scope is tried with a request that changes
 * nothing. Throws the refusal of a token that the server does not know, or does not take.
 *
 * @param transport that of a client which sends the token.
 */
export async function scopes(transport) {
  /** A refusal for another reason than the scope means that the token has it; not so for a fetch that nothing can refuse. */
  const may = async (request, isPlain = false) => {
    try {
      await transport.send(request);
      return true;
    } catch (error) {
      if (error.status === 403) return false;
      if (isPlain || error.status === 401 || error.isTransient) throw error;
      return true;
    }
  };
  const read = await may({ path: '/v1' }, true);
  const [write, admin] = await Promise.all([
    may({ method: 'POST', path: '/v1/save', body: { changes: [] } }),
    may({ method: 'HEAD', path: '/metrics' })]);
  return { read, write, admin };
}

const texts = { read: 'read', write: 'save', admin: 'administer' };

/** The scopes in words: `read and save`. */
export function inWords(granted) {
  const words = Object.keys(texts).filter((scope) => granted[scope]).map((scope) => texts[scope]);
  return words.length === 0 ? 'do nothing' : new Intl.ListFormat('en').format(words);
}
