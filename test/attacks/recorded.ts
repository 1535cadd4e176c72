import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Offer } from './recorder.ts';

export interface Asked {
  method: string;
  params: Record<string, unknown>;
}

export interface Started {
  args: string[];
  env: Record<string, string>;
  cwd: string;
}

/** A recorder as a block of a configuration, and what has reached it. */
export class Recorded {
  readonly offerFile: string;
  readonly recordFile: string;

  constructor(folder: string, name: string, offer: Offer = {}) {
    this.offerFile = join(folder, `${name}.offer.json`);
    this.recordFile = join(folder, `${name}.record.jsonl`);
    this.offers(offer);
  }

  /** In one step: the server may read it at any moment. */
  offers(offer: Offer): void {
    writeFileSync(`${this.offerFile}.new`, JSON.stringify(offer));
    renameSync(`${this.offerFile}.new`, this.offerFile);
  }

  block<T extends object>(more: T = {} as T) {
    const { args = [], env = {}, ...rest } = more as { args?: string[]; env?: Record<string, string> };
    return {
      command: process.execPath,
      args: [join(import.meta.dirname, 'recorder.ts'), ...args],
      tools: ['*'],
      env: { OFFER_FILE: this.offerFile, RECORD_FILE: this.recordFile, ...env },
      ...rest,
    };
  }

  starts(): Started[] {
    return this.#lines().flatMap(line => ('started' in line ? [line.started] : []));
  }

  /** Without what is asked of every server. */
  asked(): Asked[] {
    return this.#lines().flatMap(line =>
      'method' in line && !/^(initialize|ping|.*\/list)$/.test(line.method) ? [line] : [],
    );
  }

  #lines(): (Asked | { started: Started })[] {
    if (!existsSync(this.recordFile)) return [];
    const lines = readFileSync(this.recordFile, 'utf8').split('\n').filter(Boolean);
    return lines.map(line => JSON.parse(line) as Asked | { started: Started });
  }
}

export const toolNamed = (name: string, more: object = {}) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object' },
  ...more,
});
