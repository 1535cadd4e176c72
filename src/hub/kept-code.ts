import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { Script } from 'node:vm';
import { replaceFile } from '../link/replace-file.ts';

const DIGEST_BYTES = 32;

/**
 * A program whose compiled code is stored in a file for the next start. Node's own compile cache would contain only
 * functions that are compiled while the file is loaded, but most are compiled at their first call.
 */
export class KeptCode {
  /** Whether the file contained code for exactly this program and this Node. */
  readonly isKept: boolean;
  private readonly program: string;
  private readonly file: string;
  private readonly digestOf: (code: Buffer) => Buffer;
  private readonly script: Script;

  /** `program` is a CommonJS file in ASCII. The folder of `file` must exist when the code is saved. */
  constructor(program: string, file: string) {
    this.program = program;
    this.file = file;
    const source = readFileSync(program);
    const ofSource = createHash('sha256').update(source);
    // The digest is needed because V8 compares only the length of the source and does not detect damage.
    this.digestOf = code => ofSource.copy().update(code).digest();
    const cachedData = this.read();
    this.script = new Script(asFunction(source.toString('latin1')), { filename: program, cachedData });
    this.isKept = cachedData !== undefined && this.script.cachedDataRejected === false;
  }

  /** Runs the program and returns its exports. `requireBy` may change how the program loads other modules. */
  run(requireBy = (load: NodeJS.Require): ((name: string) => unknown) => load): unknown {
    const module = { exports: {} };
    const load = requireBy(createRequire(this.program));
    this.script.runInThisContext()(module.exports, load, module, this.program, dirname(this.program));
    return module.exports;
  }

  /**
   * Stores the code of every function called so far, unless the file already has it. The code is valid only for the
   * current V8 flags.
   */
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
      return undefined; // there is no file yet
    }
  }
}

/** Wraps the source in a function, as Node does for CommonJS files. */
const asFunction = (source: string) =>
  `(function (exports, require, module, __filename, __dirname) { ${source}\n});`;
