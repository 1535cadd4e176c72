import type { Output } from '../../src/operations/operations.ts';

/** A run saved as one file, with the responses that the web UI needs. */
export type SavedRun = Output<'export_run'>;

/** The run in a saved file, where there is no hub. Null in the web UI of a hub. */
export const saved: SavedRun | null = readSaved();

/**
 * Answers requests from a saved run. Undefined for other requests. Only the build for saved runs sets it, so that the
 * web UI does not include that code.
 */
export const savedAnswers: { of(name: string, input: object): unknown } = { of: () => undefined };

function readSaved(): SavedRun | null {
  const text = globalThis.document?.getElementById('saved-run')?.textContent;
  return text ? (JSON.parse(text) as SavedRun) : null;
}
