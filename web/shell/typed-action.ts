const ACTION = /^(cancel|retry|approve|send back)\b/i;

/** What was typed into the palette: an action on a run, if it begins with one, and the words that say on which. */
export function actionIn(typed: string): { isAction: boolean; rest: string } {
  const text = typed.trim();
  return { isAction: ACTION.test(text), rest: text.replace(ACTION, '').trim() };
}
