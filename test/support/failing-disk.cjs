/**
 * Loaded into a program before anything else, this makes changes of the disk fail: opens for writing, writes, syncs, renames, removals,
 * and closes after writing. `DISK_FAULT`, or a call of `failDisk`, says which: `under`, the beginnings of the paths that count; `from` and
 * `to`, the numbers of the first and the last change that fail, counted from 0; `fate`, what they meet. `failDisk` returns how many
 * changes there were since the last call.
 */
const fs = require('node:fs');

const SLOW_MS = 25;
const MESSAGES = { ENOSPC: 'no space left on device', EIO: 'i/o error', EROFS: 'read-only file system' };
const { open, rename, rm } = fs.promises;
let fault = JSON.parse(process.env.DISK_FAULT ?? '{"under":[]}');
let changes = 0;

globalThis.failDisk = next => {
  const before = changes;
  fault = next;
  changes = 0;
  return before;
};

const counts = path => fault.under.some(start => String(path).startsWith(start));

/** Null: this change works. */
function fateOfNext() {
  const at = changes++;
  return at >= fault.from && at <= fault.to ? fault.fate : null;
}

/** A system names the path of a file that is not open. */
function failure(code, what, path) {
  const where = path === undefined ? '' : ` '${path}'`;
  return Object.assign(new Error(`${code}: ${MESSAGES[code]}, ${what}${where}`), { code, syscall: what });
}

function meet(what, path) {
  const fate = fateOfNext();
  if (fate in MESSAGES) throw failure(fate, what, path);
  return fate;
}

function failing(handle) {
  const { writeFile, sync, datasync, chmod, close } = handle;
  handle.writeFile = async data => {
    if (meet('write') !== 'short') return writeFile.call(handle, data);
    const bytes = Buffer.from(data);
    await writeFile.call(handle, bytes.subarray(0, bytes.length >> 1));
    throw failure('ENOSPC', 'write');
  };
  for (const [name, real] of Object.entries({ sync, datasync, chmod }))
    handle[name] = async (...args) => {
      if (meet(name) === 'slow') await new Promise(resolve => setTimeout(resolve, SLOW_MS));
      return real.apply(handle, args);
    };
  handle.close = async () => {
    await close.call(handle);
    meet('close');
  };
  return handle;
}

const isForWriting = flags =>
  typeof flags === 'number'
    ? (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0
    : flags !== undefined && flags !== 'r';

fs.promises.open = async (path, flags, mode) => {
  if (!counts(path) || !isForWriting(flags)) return open(path, flags, mode);
  meet('open', path);
  return failing(await open(path, flags, mode));
};
fs.promises.rename = async (before, after) => {
  if (counts(after)) meet('rename', after);
  return rename(before, after);
};
fs.promises.rm = async (path, options) => {
  if (counts(path)) meet('unlink', path);
  return rm(path, options);
};
