export type InputKind = 'text' | `image/${string}` | 'application/pdf';

/** What a file is, told by how it begins and never by its name; null: nothing that can join a prompt. */
export function kindOf(beginning: Buffer): InputKind | null {
  const magic = MAGIC.find(({ fits }) => fits(beginning));
  if (magic) return magic.kind;
  return mayBeText(beginning) ? 'text' : null;
}

/** All of it in UTF-8, or null. */
export function textOf(bytes: Buffer): string | null {
  if (bytes.includes(0)) return null;
  try {
    return decoder().decode(bytes);
  } catch {
    return null;
  }
}

const begins = (start: string) => (bytes: Buffer) =>
  bytes.subarray(0, start.length).toString('latin1') === start;

const MAGIC = [
  { kind: 'image/png', fits: begins('\x89PNG\r\n\x1a\n') },
  { kind: 'image/jpeg', fits: begins('\xff\xd8\xff') },
  { kind: 'image/gif', fits: (bytes: Buffer) => begins('GIF87a')(bytes) || begins('GIF89a')(bytes) },
  {
    kind: 'image/webp',
    fits: (bytes: Buffer) => begins('RIFF')(bytes) && bytes.subarray(8, 12).toString('latin1') === 'WEBP',
  },
  { kind: 'application/pdf', fits: begins('%PDF-') },
] as const;

/** UTF-8 without a NUL, which no text has and every other encoding of more than a byte does. It may end within a character. */
function mayBeText(beginning: Buffer): boolean {
  if (beginning.includes(0)) return false;
  try {
    decoder().decode(beginning, { stream: true });
    return true;
  } catch {
    return false;
  }
}

const decoder = () => new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
