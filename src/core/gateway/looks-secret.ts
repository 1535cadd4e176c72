/** Nobody should be led to type these into a page that an agent's server has worded. */
const SECRET = new RegExp(
  [
    String.raw`pass(word|phrase|code|wd)|credential|secrets?\b`,
    String.raw`\b(pwd|pin|otp|totp|mfa|2 ?fa|cvv|cvc|ssn|bearer|o?auth|authori[sz]ation|tokens?)\b`,
    String.raw`(api|access|ssh|private|signing|encryption) ?keys?\b`,
  ].join('|'),
);
/** Those that models are counted by. */
const COUNTED =
  /\b(max|min|maximum|minimum|number of|total|input|output|prompt|completion|context) tokens?\b|\btokens? (count|limit|budget|usage)\b/g;

/** Whether a text, or the name of a field, asks for what only its owner should know. It can be wrong both ways. */
export function looksSecret(text: string): boolean {
  const words = text
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/(\p{L})(\p{N})|(\p{N})(\p{L})/gu, '$1$3 $2$4')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .toLowerCase();
  return SECRET.test(words.replace(COUNTED, ''));
}
