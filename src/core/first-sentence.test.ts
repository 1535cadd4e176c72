import { expect, test } from 'vitest';
import { firstSentence } from './text.ts';

test.each([
  ['of plain text', 'I fixed the cart. Two tests were added.', 'I fixed the cart.'],
  ['without a full stop is all of the paragraph', 'Well done\n\nMore', 'Well done'],
  ['over several lines', 'I fixed\nthe cart. More', 'I fixed the cart.'],
  ['after a heading', '## Summary\n\nFixed it! Yes.', 'Fixed it!'],
  ['of a list', '- Fixed it.\n- Tested it.', 'Fixed it.'],
  ['is not cut at an abbreviation or a number', 'Uses e.g. v3.5 now. Good.', 'Uses e.g. v3.5 now.'],
  ['in Chinese', '修好了。测试通过。', '修好了。'],
  ['of a heading alone', '# Done', 'Done'],
  ['of nothing', ' \n```\n', ''],
])('the first sentence %s', (_, text, sentence) => {
  expect(firstSentence(text)).toBe(sentence);
});
