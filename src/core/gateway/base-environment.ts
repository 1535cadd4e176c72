const NAMES = new Set([
  ...['HOME', 'PATH', 'LANG', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'TERM', 'TZ'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR'],
]);
const PREFIXES = ['LC_', 'XDG_'];

/** What the process of a server has of the environment it is started in: what programs need to work at all, and no secrets of others. */
export function baseEnvironment(variables: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).filter(
      ([name]) => NAMES.has(name) || PREFIXES.some(prefix => name.startsWith(prefix)),
    ),
  );
}
