import { writeFileSync } from 'node:fs';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { McpConfig } from '../../schema/mcp-config.ts';
import { isTrusted, trust } from '../settings/trust.ts';
import { changeMcpConfig, EMPTY_MCP_CONFIG } from './change-mcp-config.ts';

let root: string;
let workspace: string;
let home: string;
let file: string;
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), 'squad-change-')));
  workspace = join(root, 'ws');
  home = join(root, 'state');
  file = join(workspace, '.squad', 'mcp-config.json');
  await mkdir(workspace);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const withServer = (text: string, id: string) => {
  const config = JSON.parse(text) as McpConfig;
  return JSON.stringify({
    ...config,
    servers: { ...config.servers, [id]: { command: 'new', tools: ['*'] } },
  });
};
const change = (text: (before: string) => string) =>
  changeMcpConfig(home, workspace, before => text(before.text));
const add = () => change(before => withServer(before, 'new'));
const written = () => readFile(file, 'utf8');
const put = async (text: string) => {
  await mkdir(join(workspace, '.squad'), { recursive: true });
  await writeFile(file, text);
};

describe('a new server', () => {
  it('makes the file where there is none, trusted', async () => {
    expect(await add()).toEqual({ file, isTrusted: true });
    const text = await written();
    expect(McpConfig.parse(JSON.parse(text)).servers).toHaveProperty('new');
    expect(await isTrusted(home, file, text)).toBe(true);
  });

  it('is trusted with a file that was, and waits with one that was not', async () => {
    const text = '{ "servers": { "old": { "command": "old", "tools": [] } } }';
    await put(text);
    expect(await add()).toEqual({ file, isTrusted: false });
    expect(await isTrusted(home, file, await written())).toBe(false);
    await trust(home, file, await written());
    expect(await change(before => withServer(before, 'more'))).toMatchObject({
      isTrusted: true,
    });
    expect(await isTrusted(home, file, await written())).toBe(true);
  });

  it('does not get into a file that is broken, or that somebody changed meanwhile', async () => {
    await put('{ "servers": { }');
    await expect(add()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    expect(await written()).toBe('{ "servers": { }');
    await put('{ "servers": {} }');
    const editing = change(before => {
      writeFileSync(file, '{ "servers": {} } ');
      return withServer(before, 'new');
    });
    await expect(editing).rejects.toThrow('was changed by another program');
    expect(await written()).toBe('{ "servers": {} } ');
  });

  it('is not lost among many that come at once, and neither is the trust in them', async () => {
    const ids = Array.from({ length: 10 }, (_, at) => `s${at}`);
    await Promise.all(ids.map(id => change(before => withServer(before, id))));
    const text = await written();
    expect(Object.keys(McpConfig.parse(JSON.parse(text)).servers).sort()).toEqual(ids);
    expect(await isTrusted(home, file, text)).toBe(true);
    expect(await readdir(home)).toEqual(['trust.json']);
  });

  it('is not written through a link that leads out of the workspace', {
    tags: ['symlinks-and-races'],
  }, async () => {
    const outside = join(root, 'outside');
    await mkdir(outside);
    await symlink(outside, join(workspace, '.squad'));
    await expect(add()).rejects.toThrow('out of the workspace');
    await rm(join(workspace, '.squad'));
    await put('');
    await rm(file);
    await writeFile(join(outside, 'x.json'), EMPTY_MCP_CONFIG);
    await symlink(join(outside, 'x.json'), file);
    await expect(add()).rejects.toThrow('leads out of the workspace');
    expect(await readFile(join(outside, 'x.json'), 'utf8')).toBe(EMPTY_MCP_CONFIG);
  });

  it('leaves a link inside the workspace a link, and the mode of the file as it is', async () => {
    await put('');
    await rm(file);
    const real = join(workspace, 'servers.json');
    await writeFile(real, EMPTY_MCP_CONFIG);
    await chmod(real, 0o640);
    await symlink(real, file);
    await add();
    expect(await readFile(real, 'utf8')).toContain('"new"');
    expect((await stat(real)).mode & 0o777).toBe(0o640);
    expect(await isTrusted(home, file, await written())).toBe(true);
  });

  it('that no configuration may have is refused', async () => {
    await expect(change(before => withServer(before, 'no way'))).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
    await expect(written()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
