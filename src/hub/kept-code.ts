import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';
import { replaceFile } from '../link/replace-file.ts';

const DIGEST_BYTES = 32;

/**
 * A program whose compiled code is kept in a file for the next start. Node's own compile cache would keep only the functions
 * that are compiled while the file is read, and most of them are compiled when they are first called.
 */
export class KeptCode {
  /** Whether the file had code for exactly this program and this Node. */
  readonly isKept: boolean;
  private readonly program: string;
  private readonly file: string;
  private readonly digestOf: (code: Buffer) => Buffer;
  private readonly script: Script;

  /** `program`: a CommonJS file in ASCII. The folder of `file` must exist when the code is saved. */
  constructor(program: string, file: string) {
    this.program = program;
    this.file = file;
    const source = readFileSync(program);
    const ofSource = createHash('sha256').update(source);
    // V8 itself compares only the length of the source, and does not notice damage.
    this.digestOf = code => ofSource.copy().update(code).digest();
    const cachedData = this.read();
    this.script = new Script(asFunction(source.toString('latin1')), { filename: program, cachedData });
    this.isKept = cachedData !== undefined && this.script.cachedDataRejected === false;
  }

  /** Returns its exports. `requireBy` may change how the program requires others. */
  run(requireBy = (load: NodeJS.Require): ((name: string) => unknown) => load): unknown {
    const module = { exports: {} };
    const load = requireBy(createRequire(this.program));
    this.script.runInThisContext()(module.exports, load, module, this.program, dirname(this.program));
    return module.exports;
  }

  /** Keeps every function that has been called so far, unless code is kept already. It is only for the V8 flags of this moment. */
  save(): void {
    if (this.isKept) return;
    const code = this.script.createCachedData();
    replaceFile(this.file, Buffer.concat([this.digestOf(code), code]), 0o600);
  }

  private read(): Buffer | undefined {
    try {
      const kept = readFileSync(this.file);
      const code = kept.subarray(DIGEST_BYTES);
      return this.digestOf(code).equals(kept.subarray(0, DIGEST_BYTES)) ? code : undefined;
    } catch {
      return undefined; // none yet
    }
  }
}

/** As Node does it with CommonJS files. */
const asFunction = (source: string) =>
  `(function (exports, require, module, __filename, __dirname) { ${source}\n});`;
