import { type Fields, list, text } from './json-line.ts';

/** Codex's own word for the choice of somebody who wants none of the others. */
const OTHER = 'None of the above';

/**
 * The questions that a model asks with a tool of its CLI, as a form. Its fields are named by their numbers, because the
 * questions may be long.
 */
export function questionForm(questions: readonly Fields[]): Fields {
  const properties = questions.map(({ question, header, options, multiSelect, isOther }, i) => {
    const choices = list(options);
    const labels = [...choices.map(({ label }) => label), ...(isOther === true ? [OTHER] : [])];
    const explained = choices.map(({ label, description }) => `${label}: ${description}`);
    const shown = { title: text(header) ?? '', description: [question, ...explained].join('\n') };
    const choice = { type: 'string', ...(choices.length > 0 && { enum: labels }) };
    return [
      `${i + 1}`,
      multiSelect === true ? { ...shown, type: 'array', items: choice } : { ...shown, ...choice },
    ];
  });
  const required = properties.map(([name]) => name);
  return {
    message: questions.map(({ question }) => question).join('\n'),
    requestedSchema: { type: 'object', properties: Object.fromEntries(properties), required },
  };
}

/** Answers of the user to the question at this place: several if the question allows several choices. */
export function answersAt(values: Fields, index: number): string[] {
  const value = values[`${index + 1}`];
  return value === undefined ? [] : (Array.isArray(value) ? value : [value]).map(String);
}
