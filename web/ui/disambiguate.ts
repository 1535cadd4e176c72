import { codeOf, visibleText } from '../../src/base/text.ts';

/** Letters of other alphabets that look like Latin ones. */
const LOOKALIKES = new Map(
  Object.entries({
    a: 'аα',
    c: 'сϲ',
    e: 'е',
    i: 'іι',
    j: 'јϳ',
    o: 'оο',
    p: 'рρ',
    s: 'ѕ',
    x: 'хχ',
    y: 'уγ',
    A: 'АΑ',
    B: 'ВΒ',
    C: 'СϹ',
    E: 'ЕΕ',
    H: 'НΗ',
    K: 'КΚ',
    M: 'МΜ',
    N: 'Ν',
    O: 'ОΟ',
    P: 'РΡ',
    T: 'ТΤ',
    X: 'ХΧ',
  }).flatMap(([plain, others]) => [...others].map(other => [other, plain] as const)),
);

/** Labels of choices. Choices that look the same are numbered and have their unusual characters spelled out. */
export function disambiguate(choices: readonly string[]): string[] {
  const looks = choices.map(appearanceOf);
  return choices.map((choice, at) => {
    const isAlone = looks.indexOf(looks[at]!) === looks.lastIndexOf(looks[at]!);
    return isAlone ? visibleText(choice) : `${at + 1}: ${spelled(choice)}`;
  });
}

const appearanceOf = (text: string): string =>
  [...text.normalize('NFKC').replace(/\p{Default_Ignorable_Code_Point}|\p{Cc}/gu, '')]
    .map(char => LOOKALIKES.get(char) ?? char)
    .join('')
    .replace(/\s+/g, ' ')
    .trim();

/** Spells out every character except plain letters and single spaces by its code. */
const spelled = (text: string): string =>
  text.replace(/[^\x20-\x7e]|^ | $|(?<= ) /gu, char => `<${codeOf(char)}>`);
