import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { z } from 'zod';
import type { LocalServer, RemoteServer } from '../../src/schema/mcp-config.ts';

type LocalBlock = z.input<typeof LocalServer>;
type RemoteBlock = z.input<typeof RemoteServer>;
type Options = Partial<Omit<LocalBlock, 'command' | 'args'>>;

/** How a configuration refers to a variable. */
export const variable = (name: string) => `\${${name}}`;

const programOf = (name: string) => join(import.meta.dirname, `${name}.ts`);

/** A block of `.squad/mcp-config.json` that starts a program of this folder. */
function local(name: string, args: string[], options: Options): LocalBlock {
  return { command: process.execPath, args: [programOf(name), ...args], tools: ['*'], ...options };
}

export const echoBlock = (options: Options = {}) => local('echo', [], options);
export const askingBlock = (options: Options = {}) => local('asking', [], options);
export const sdkEchoBlock = (options: Options = {}) => local('sdk-echo', [], options);
export const hostileBlock = (behaviour: string, options: Options = {}) =>
  local('hostile', [behaviour], options);

export interface RemoteProgram extends AsyncDisposable {
  url: string;
  pid: number;
  block(options?: Partial<RemoteBlock>): RemoteBlock;
}

/** The echo server made with the official SDK, over streamable HTTP. */
export const startHttpEcho = () => startRemote('sdk-echo', '--http', 'http');

/** The small echo server over the transport that came before it. */
export const startSseEcho = () => startRemote('echo', '--sse', 'sse');

async function startRemote(name: string, option: string, type: RemoteBlock['type']): Promise<RemoteProgram> {
  const child = spawn(process.execPath, [programOf(name), option, '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string];
  return {
    url,
    pid: child.pid!,
    block: (options = {}) => ({ type, url, tools: ['*'], ...options }),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
