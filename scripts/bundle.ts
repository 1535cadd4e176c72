/** `npm run bundle [FILE]`: packs Squad as an MCP bundle (.mcpb) for Claude Desktop. The bundle has no dependency besides Node. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { installPinned } from './engine-clis.ts';
import { bundleManifest } from './manifests.ts';

const root = join(import.meta.dirname, '..');
/**
 * Anthropic's own packer. It is installed outside the tree, because it has many dependencies and only this script needs
 * it.
 */
const MCPB = { package: '@anthropic-ai/mcpb', version: '2.1.2', program: '.bin/mcpb' };
/**
 * Parts of the package better-sqlite3 that the bundle needs. The others, sources and files of compilers, are three
 * quarters of the package.
 */
const SQLITE_PARTS = ['package.json', 'LICENSE', 'lib', 'prebuilds'];

export const mcpb = async (...args: string[]): Promise<string> =>
  execFileSync(process.execPath, [await installPinned('mcpb', MCPB), ...args], { encoding: 'utf8' });

/** Packs the programs in `dist` without building them. */
export async function bundle(file: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'squad-bundle-'));
  try {
    const { files } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { files: string[] };
    for (const part of [...files, 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    const sqlite = join('node_modules', 'better-sqlite3');
    mkdirSync(join(folder, sqlite), { recursive: true });
    for (const part of SQLITE_PARTS)
      cpSync(join(root, sqlite, part), join(folder, sqlite, part), {
        recursive: true,
        filter: path => !path.includes('win32'),
      });
    writeFileSync(join(folder, 'manifest.json'), `${JSON.stringify(bundleManifest(), null, 2)}\n`);
    await mcpb('validate', join(folder, 'manifest.json'));
    await mcpb('pack', folder, file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const file = resolve(process.argv[2] ?? `squad-mcp-${bundleManifest().version}.mcpb`);
  await bundle(file);
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
}
