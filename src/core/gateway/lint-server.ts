import { isRefusedHost } from '../../base/network.ts';
import { nearest } from '../../base/text.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import type { Server } from '../../schema/mcp-config.ts';
import { type ConfigFinding, type ConfigPath, error, type KnownToLint, warning } from './config-finding.ts';
import { own } from './grants.ts';
import { isSecretArgument, looksSecretValue } from './secrets.ts';
import { meansAny } from './tool-names.ts';
import {
  isOrdinaryVariable,
  looksSecretHeader,
  looksSecretName,
  malformedVariable,
  namesIn,
  substitute,
} from './variables.ts';

/** Checks a server by itself. `whenUnset`: the consequence of a variable that is not set. */
export function lintServer(
  id: string,
  server: Server,
  known: KnownToLint,
  whenUnset = `the server ${id} is left out`,
): ConfigFinding[] {
  const at: ConfigPath = ['servers', id];
  const texts = textsWithPaths(server);
  return [
    ...texts.flatMap(([path, text]) => lintText([...at, ...path], text, known.env, whenUnset)),
    ...literalSecrets(server, at, texts),
    ...('command' in server ? lintPackage(server, at) : lintUrl(server.url, [...at, 'url'])),
    ...lintInstance(id, server, at),
    ...unknownTools(known, id, server.tools, [...at, 'tools'], false),
  ];
}

function textsWithPaths(server: Server): [ConfigPath, string][] {
  if (!('command' in server)) return [[['url'], server.url], ...fields('headers', server.headers)];
  return [
    [['command'], server.command],
    ...server.args.map((text, index): [ConfigPath, string] => [['args', index], text]),
    ...fields('env', server.env),
    ...(server.cwd === undefined ? [] : [[['cwd'], server.cwd] as [ConfigPath, string]]),
  ];
}

const fields = (key: string, record: Record<string, string>): [ConfigPath, string][] =>
  Object.entries(record).map(([name, text]) => [[key, name], text]);

function lintText(
  path: ConfigPath,
  text: string,
  env: KnownToLint['env'],
  whenUnset: string,
): ConfigFinding[] {
  const malformed = malformedVariable(text);
  const findings: ConfigFinding[] = [];
  if (malformed !== null)
    findings.push(
      error(
        path,
        `"${malformed}" is not a variable and stays as it is`,
        `A variable is $\{NAME}, of letters, digits and _; there are no defaults.`,
      ),
    );
  for (const name of env === null ? [] : new Set(namesIn(text))) {
    if (name === 'WORKSPACE_ROOT' || name === 'SQUAD_ROOT') continue;
    const value = Object.hasOwn(env!, name) ? env![name]! : '';
    if (value === '')
      findings.push({
        ...error(
          path,
          `The variable ${name} is not set, so ${whenUnset}`,
          `Set ${name} in the environment of the program that starts Squad.`,
        ),
        isLacking: true,
      });
    else if (value.length < MIN_SECRET_LENGTH && !isOrdinaryVariable(name))
      findings.push(
        warning(
          path,
          `The value of ${name} has fewer than ${MIN_SECRET_LENGTH} characters, so Squad cannot redact it in what agents read`,
        ),
      );
  }
  return findings;
}

function literalSecrets(server: Server, at: ConfigPath, texts: [ConfigPath, string][]): ConfigFinding[] {
  const looksSecret = 'command' in server ? looksSecretName : looksSecretHeader;
  return texts.flatMap(([path, text]): ConfigFinding[] => {
    const [key, place] = path;
    const name = typeof place === 'string' ? place : null;
    const isNamed = name !== null && looksSecret(name) && text.length >= MIN_SECRET_LENGTH;
    const isArgument =
      'command' in server && key === 'args' && isSecretArgument(server.args, place as number);
    if (!looksSecretValue(text) && !isArgument && !(isNamed && namesIn(text).length === 0)) return [];
    const variable = (name ?? 'SECRET').toUpperCase().replace(/[^A-Z0-9_]/g, '_');
    return [
      warning(
        [...at, ...path],
        'This looks like a secret in a file that others read',
        `Put it into a variable and write \${${variable}}.`,
      ),
    ];
  });
}

function lintUrl(text: string, path: ConfigPath): ConfigFinding[] {
  const url = URL.parse(substitute(text, () => 'variable'));
  // A value that starts with a variable can be any URL.
  if (!text.startsWith('${') && url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return [error(path, 'This is not an http or https URL')];
  if (url !== null && isRefusedHost(url.hostname))
    return [
      error(
        path,
        `Squad never connects to ${url.hostname}`,
        'Link-local and cloud metadata addresses hold credentials, not tools.',
      ),
    ];
  const isKnown = url !== null && !url.hostname.includes('variable');
  const isNear = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '');
  if (url?.protocol !== 'http:' || !isKnown || isNear) return [];
  return [warning(path, `Traffic to ${url.hostname} is not encrypted: the URL is http`, 'Use https.')];
}

function lintPackage(
  { command, args }: { command: string; args: string[] },
  at: ConfigPath,
): ConfigFinding[] {
  if (!/(^|\/)(npx|bunx)$/.test(command)) return [];
  const index = args.findIndex(arg => !arg.startsWith('-'));
  const name = args[index];
  if (name === undefined || namesIn(name).length > 0 || /.@\d/.test(name)) return [];
  return [
    warning(
      [...at, 'args', index],
      `${name} has no version, so it may be another program each time`,
      'Name the version you have checked: name@1.2.3.',
    ),
  ];
}

/** Programs that keep state between calls. */
const REMEMBERS = /playwright|puppeteer|browser|chrome|selenium|shell|terminal|repl|jupyter|ipython/i;

function lintInstance(id: string, server: Server, at: ConfigPath): ConfigFinding[] {
  const words = 'command' in server ? [id, server.command, ...server.args] : [id];
  if (server.instance !== 'shared' || !words.some(word => REMEMBERS.test(word))) return [];
  return [
    warning(
      at,
      `The server ${id} seems to keep state between calls, and all agents share it`,
      'Add "instance": "per-agent" to give each agent its own.',
    ),
  ];
}

/** Names that match no tool of a server whose tools are known, and patterns where only names count. */
export function unknownTools(
  { tools = {} }: KnownToLint,
  id: string,
  names: readonly string[],
  path: ConfigPath,
  /** A wrong name in a list that gives tools has no effect; in one that takes them away, it hides the server. Only the latter may hold patterns. */
  takesAway: boolean,
): ConfigFinding[] {
  const level = takesAway ? error : warning;
  const listed = own(tools, id);
  const known = listed && new Set(listed);
  return names.flatMap((name, index) => {
    const at = [...path, index];
    if (name !== '*' && name.includes('*') && !takesAway)
      return [error(at, `"${name}" is taken as a name: only "*" alone stands for all`)];
    if (known === undefined || meansAny(name, id, known, takesAway)) return [];
    const hidden = takesAway ? ', so its tools are hidden until this is corrected or confirmed' : '';
    return [
      level(at, `There is no tool "${name}" in ${id}${hidden}`, suggestName(name, [...known]).suggestion),
    ];
  });
}

export function suggestName(wrong: string, names: readonly string[]): { suggestion?: string } {
  const near = nearest(wrong, names);
  if (near.length > 0) return { suggestion: `Did you mean ${near.map(name => `"${name}"`).join(' or ')}?` };
  return names.length === 0 ? {} : { suggestion: `Available: ${names.slice(0, 12).join(', ')}.` };
}
