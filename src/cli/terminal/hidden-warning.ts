import { hiddenWarning } from '../../base/text.ts';
import type { CliContext } from '../context.ts';
import { wrap } from './width.ts';

/** Lines that warn of hidden characters before somebody decides about a text; none when it has none. */
export function hiddenWarningLines(
  text: string,
  where: string,
  { out, style }: Pick<CliContext, 'out' | 'style'>,
): string[] {
  const warning = hiddenWarning(text, where);
  return warning === null ? [] : wrap(warning, out.columns).map(style.yellow);
}
