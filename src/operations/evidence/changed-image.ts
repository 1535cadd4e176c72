import { z } from 'zod';
import { loadBaseline } from '../../core/evidence/baseline.ts';
import type { FileVersion } from '../../core/ports/worktrees.ts';
import type { Run } from '../../schema/run.ts';
import { operation, type UserServices } from '../operation.ts';
import { findRun } from '../runs/find-runs.ts';
import { imageIn } from './image-header.ts';

const MAX_BYTES = 4 * 1024 * 1024;
/** A small file can hold an image that needs gigabytes when it is drawn. */
const MAX_PIXELS = 40_000_000;

const Version = z
  .object({
    bytes: z.number(),
    width: z.number().nullable(),
    height: z.number().nullable(),
    /** `data:` URL of the image. Null if the file is too large, or is no PNG, JPEG or GIF. */
    url: z.string().nullable(),
  })
  .nullable();

/** An image in a run's changes, before the run and now. Null on the side where the file does not exist. */
export const changedImage = operation({
  name: 'changed_image',
  route: 'GET /runs/{run}/image',
  input: z.strictObject({ run: z.string(), path: z.string().min(1).max(4096) }),
  output: z.object({ before: Version, after: Version }),
  async run({ services }, { run: given, path }) {
    const run = await findRun(services, given);
    const { folder, before, after } = await sidesOf(services, run);
    const version = (commit: string | null) => services.workTree.fileVersion(folder, path, commit, MAX_BYTES);
    const [old, current] = await Promise.all([before === null ? null : version(before), version(after)]);
    return { before: shown(old), after: shown(current) };
  },
});

/**
 * Where to find both versions. `before` is in a commit. `after` is in the folder (null), or on the branch if the
 * folder is gone.
 */
async function sidesOf(
  { files, worktrees }: UserServices,
  { id, directory, worktree }: Run,
): Promise<{ folder: string; before: string | null; after: string | null }> {
  const head = (await loadBaseline(files, { runId: id, number: 1 })).snapshot?.head ?? null;
  const left = worktree && (await worktrees.remains(worktree));
  if (!worktree || !left || left.isThere) return { folder: directory, before: head, after: null };
  return { folder: worktree.repository, before: head ?? worktree.base, after: left.tip };
}

function shown(version: FileVersion | null): z.infer<typeof Version> {
  if (!version) return null;
  const { bytes, content } = version;
  const image = content && imageIn(content);
  if (!image) return { bytes, width: null, height: null, url: null };
  const { type, width, height } = image;
  const url = width * height > MAX_PIXELS ? null : `data:${type};base64,${content.toString('base64')}`;
  return { bytes, width, height, url };
}
