import { hiddenWarning } from '../../base/text.ts';
import type { CliContext } from '../context.ts';
import { wrap } from './width.ts';

/** Warns of hidden characters before the user decides about a text; no lines without any. */
export function hiddenWarningLines(
  text: string,
  where: string,
  { out, style }: Pick<CliContext, 'out' | 'style'>,
): string[] {
  const warning = hiddenWarning(text, where);
  return warning === null ? [] : wrap(warning, out.columns).map(style.yellow);
}
