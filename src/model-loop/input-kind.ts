/** What a file is, told by how it begins and never by its name; null: nothing that can join a prompt. */
export function kindOf(bytes: Buffer): 'text' | `image/${string}` | 'application/pdf' | null {
  const magic = MAGIC.find(({ fits }) => fits(bytes));
  if (magic) return magic.kind;
  return isText(bytes) ? 'text' : null;
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

/** UTF-8 without a NUL, which no text has and every other encoding of more than a byte does. */
function isText(bytes: Buffer): boolean {
  if (bytes.includes(0)) return false;
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
