import type { Output } from '../../src/operations/operations.ts';

/** A run saved as one file, with the responses that the web UI needs. */
export type SavedRun = Output<'export_run'>;

/** Set in a saved file, where there is no hub. */
export const saved: SavedRun | null = readSaved();

/** How such a file answers; undefined: that was not saved. The page that is one sets it, so that no other has to carry it. */
export const savedAnswers: { of(name: string, input: object): unknown } = { of: () => undefined };

function readSaved(): SavedRun | null {
  const text = globalThis.document?.getElementById('saved-run')?.textContent;
  return text ? (JSON.parse(text) as SavedRun) : null;
}
