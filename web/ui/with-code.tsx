import { codeParts } from './code-parts.ts';

/** What is between backticks is something to type, and looks like it. */
export function WithCode({ text }: { text: string }) {
  return (
    <>
      {codeParts(text).map((part, index) => (part.isCode ? <code key={index}>{part.text}</code> : part.text))}
    </>
  );
}
