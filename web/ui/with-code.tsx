import { codeParts } from './code-parts.ts';

/** Text with the parts in backticks shown as code. */
export function WithCode({ text }: { text: string }) {
  return (
    <>
      {codeParts(text).map((part, index) => (part.isCode ? <code key={index}>{part.text}</code> : part.text))}
    </>
  );
}
