import { isRefusedHost } from '../../base/network.ts';
import { MIN_SECRET_LENGTH } from '../../redaction/secret-forms.ts';
import type { Server } from '../../schema/mcp-config.ts';
import type { ConfigFinding, KnownToLint } from './lint-config.ts';
import { unknownTools } from './lint-references.ts';
import { isSecretArgument, looksSecretValue } from './secrets.ts';
import {
  isOrdinaryVariable,
  looksSecretHeader,
  looksSecretName,
  malformedVariable,
  namesIn,
  substitute,
} from './variables.ts';

type Path = (string | number)[];

/** What can be said of a server by itself. `whenUnset`: what comes of a variable that it names and that is not there. */
export function lintServer(
  id: string,
  server: Server,
  known: KnownToLint,
  whenUnset = `the server ${id} stays out`,
): ConfigFinding[] {
  const at: Path = ['servers', id];
  const texts = textsWithPaths(server);
  return [
    ...texts.flatMap(([path, text]) => lintText([...at, ...path], text, known.env, whenUnset)),
    ...literalSecrets(server, at, texts),
    ...('command' in server ? lintPackage(server, at) : lintUrl(server.url, [...at, 'url'])),
    ...lintInstance(id, server, at),
    ...unknownTools(known, id, server.tools, [...at, 'tools'], false),
  ];
}

function textsWithPaths(server: Server): [Path, string][] {
  if (!('command' in server)) return [[['url'], server.url], ...fields('headers', server.headers)];
  return [
    [['command'], server.command],
    ...server.args.map((text, index): [Path, string] => [['args', index], text]),
    ...fields('env', server.env),
    ...(server.cwd === undefined ? [] : [[['cwd'], server.cwd] as [Path, string]]),
  ];
}

const fields = (key: string, record: Record<string, string>): [Path, string][] =>
  Object.entries(record).map(([name, text]) => [[key, name], text]);

function lintText(path: Path, text: string, env: KnownToLint['env'], whenUnset: string): ConfigFinding[] {
  const malformed = malformedVariable(text);
  const findings: ConfigFinding[] = [];
  if (malformed !== null)
    findings.push({
      ...{ level: 'error', path, message: `"${malformed}" is not a variable and stays as it is` },
      suggestion: `A variable is $\{NAME}, of letters, digits and _; there are no defaults.`,
    });
  for (const name of env === null ? [] : new Set(namesIn(text))) {
    if (name === 'WORKSPACE_ROOT' || name === 'SQUAD_ROOT') continue;
    const value = Object.hasOwn(env!, name) ? env![name]! : '';
    if (value === '')
      findings.push({
        ...{
          level: 'error',
          path,
          message: `The variable ${name} is not set, so ${whenUnset}`,
          isLacking: true,
        },
        suggestion: `Set ${name} in the environment of the program that starts Squad.`,
      });
    else if (value.length < MIN_SECRET_LENGTH && !isOrdinaryVariable(name))
      findings.push({
        level: 'warning',
        path,
        message: `The value of ${name} has fewer than ${MIN_SECRET_LENGTH} characters, so it cannot be kept out of what agents read`,
      });
  }
  return findings;
}

function literalSecrets(server: Server, at: Path, texts: [Path, string][]): ConfigFinding[] {
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
      {
        ...{
          level: 'warning',
          path: [...at, ...path],
          message: 'This looks like a secret in a file that others read',
        },
        suggestion: `Put it into a variable and write \${${variable}}.`,
      },
    ];
  });
}

function lintUrl(text: string, path: Path): ConfigFinding[] {
  const url = URL.parse(substitute(text, () => 'variable'));
  // What begins with a variable can be any URL.
  if (!text.startsWith('${') && url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return [{ level: 'error', path, message: 'This is not an http or https URL' }];
  if (url !== null && isRefusedHost(url.hostname))
    return [
      {
        level: 'error',
        path,
        message: `${url.hostname} is an address that is never connected to`,
        suggestion: 'Link-local addresses and those of cloud metadata hold credentials, and no tools.',
      },
    ];
  const isKnown = url !== null && !url.hostname.includes('variable');
  const isNear = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\])$/.test(url?.hostname ?? '');
  if (url?.protocol !== 'http:' || !isKnown || isNear) return [];
  return [
    {
      ...{
        level: 'warning',
        path,
        message: `What goes to ${url.hostname} can be read on the way: the URL is http`,
      },
      suggestion: 'Use https.',
    },
  ];
}

function lintPackage({ command, args }: { command: string; args: string[] }, at: Path): ConfigFinding[] {
  if (!/(^|\/)(npx|bunx)$/.test(command)) return [];
  const index = args.findIndex(arg => !arg.startsWith('-'));
  const name = args[index];
  if (name === undefined || namesIn(name).length > 0 || /.@\d/.test(name)) return [];
  return [
    {
      level: 'warning',
      path: [...at, 'args', index],
      message: `${name} has no version, so it may be another program each time`,
      suggestion: 'Write the version you have looked at: name@1.2.3.',
    },
  ];
}

/** Programs that go on from what was asked before. */
const REMEMBERS = /playwright|puppeteer|browser|chrome|selenium|shell|terminal|repl|jupyter|ipython/i;

function lintInstance(id: string, server: Server, at: Path): ConfigFinding[] {
  const words = 'command' in server ? [id, server.command, ...server.args] : [id];
  if (server.instance !== 'shared' || !words.some(word => REMEMBERS.test(word))) return [];
  return [
    {
      level: 'warning',
      path: at,
      message: `The server ${id} seems to remember what it was asked, and all agents share it`,
      suggestion: 'Add "instance": "per-agent" to give each agent its own.',
    },
  ];
}
