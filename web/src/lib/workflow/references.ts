/** References to nodes in templates and conditions. */

const NAME = '[A-Za-z0-9_][A-Za-z0-9_-]*';
const TEMPLATE = /(\\?)\{\{([^{}]*)\}\}/g;
const HEAD = new RegExp(`^(\\s*(?:inputs\\s*\\.\\s*)?)(${NAME})`);
// Texts, paths, and everything else one sign at a time.
const TOKEN = new RegExp(
  `'(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*"|${NAME}(?:\\.${NAME}|\\[[^\\]]*\\])*|[\\s\\S]`,
  'g',
);
const WORDS = new Set(
  'and or not in contains startsWith endsWith true false null len lower upper trim'.split(' '),
);

/** The names that a template refers to, in order, each once. */
export function namesInTemplate(text: string): string[] {
  const names = new Set<string>();
  mapTemplate(text, (name) => {
    names.add(name);
    return name;
  });
  return [...names];
}

/** The template with each name changed by `rename`. */
export function mapTemplate(text: string, rename: (name: string) => string): string {
  return text.replace(TEMPLATE, (whole, escape: string, inner: string) => {
    if (escape) return whole;
    return `{{${mapPath(inner, rename)}}}`;
  });
}

/** The condition with each name changed by `rename`. */
export function mapCondition(text: string, rename: (name: string) => string): string {
  return text.replace(TOKEN, (token) => {
    if (token.startsWith('"')) return mapTemplate(token, rename);
    if (token.startsWith("'") || /^[0-9.]+$/.test(token) || WORDS.has(token)) return token;
    return mapPath(token, rename);
  });
}

function mapPath(path: string, rename: (name: string) => string): string {
  return path.replace(HEAD, (_, before: string, name: string) => before + rename(name));
}
