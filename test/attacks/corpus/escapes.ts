const ESC = '\u001b';
const BEL = '\u0007';
const ST = `${ESC}\\`;

/** Every family of control sequences a terminal may obey: seven-bit, eight-bit, ended by either mark, and never ended. */
export const TERMINAL_ESCAPES: Record<string, string> = {
  colour: `${ESC}[31m`,
  'colour, eight-bit': '\u009b31m',
  'clear screen': `${ESC}[2J${ESC}[H`,
  'cursor up and erase': `${ESC}[5A${ESC}[2K`,
  'alternate screen': `${ESC}[?1049h`,
  'mouse reports': `${ESC}[?1000h${ESC}[?1006h`,
  'bracketed paste': `${ESC}[?2004h`,
  'device attributes': `${ESC}[c${ESC}[>c`,
  'cursor report': `${ESC}[6n`,
  'window report': `${ESC}[21t`,
  'repeat character': `x${ESC}[999999b`,
  'private use': `${ESC}[>4;2m${ESC}[=1u`,
  'colon parameters': `${ESC}[38:2::1:2:3m`,
  'intermediate bytes': `${ESC}[1 q${ESC}[!p`,
  'unfinished csi': `${ESC}[12;`,
  title: `${ESC}]0;owned${BEL}`,
  'title, string terminator': `${ESC}]2;owned${ST}`,
  'title, eight-bit': '\u009d0;owned\u009c',
  clipboard: `${ESC}]52;c;ZXZpbA==${BEL}`,
  'clipboard, eight-bit': '\u009d52;c;ZXZpbA==\u009c',
  link: `${ESC}]8;;https://evil.example${ST}here${ESC}]8;;${ST}`,
  'working folder': `${ESC}]7;file://evil/x${BEL}`,
  palette: `${ESC}]4;1;?${BEL}`,
  notification: `${ESC}]9;hello${BEL}${ESC}]777;notify;a;b${BEL}`,
  'inline file': `${ESC}]1337;File=inline=1:AAAA${BEL}`,
  'semantic prompt': `${ESC}]133;A${BEL}`,
  'unfinished osc': `${ESC}]0;never ends`,
  dcs: `${ESC}P1$r0m${ST}`,
  'dcs, eight-bit': '\u00901$r0m\u009c',
  sixel: `${ESC}Pq#0;2;0;0;0~${ST}`,
  'tmux pass-through': `${ESC}Ptmux;${ESC}${ESC}]52;c;ZXZpbA==${BEL}${ST}`,
  'unfinished dcs': `${ESC}P+q544e`,
  apc: `${ESC}_Gf=100;AAAA${ST}`,
  'apc, eight-bit': '\u009fG\u009c',
  pm: `${ESC}^private${ST}`,
  'pm, eight-bit': '\u009eprivate\u009c',
  sos: `${ESC}Xstring${ST}`,
  'sos, eight-bit': '\u0098string\u009c',
  'full reset': `${ESC}c`,
  'line drawing': `${ESC}(0`,
  'save and restore': `${ESC}7${ESC}8`,
  'single shift': `${ESC}N${ESC}O\u008e\u008f`,
  'lone escape': ESC,
  'escape at the end': `end${ESC}`,
  'nested escape': `${ESC}${ESC}[31m`,
  backspaces: 'good\b\b\b\bevil',
  'carriage return': 'good\revil',
  bell: BEL,
  'vertical tab and form feed': '\v\f',
  'shift out': '\u000e\u000f',
  'enquiry, cancel, substitute': '\u0005\u0018\u001a',
  delete: '\u007f',
  'next line': '\u0085second',
  'string terminator alone': '\u009c',
  'right to left override': '\u202eexe.txt\u202c',
  'isolates and marks': '\u2066\u2067\u2068\u2069',
};

/** Sequences a terminal would obey in an output, but for colours and styles, which are ours. */
export function foreignSequences(output: string): string[] {
  const ours = new RegExp(`${ESC}\\[[0-9;]*m`, 'g');
  const found = output.replaceAll(ours, '').matchAll(/(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu);
  return [...new Set([...found].map(([character]) => JSON.stringify(character)))];
}
