/** Records when an element with this text is drawn, by the clock of the browser. */
export function seeText(selector: string, text: string): void {
  const look = () => {
    if (document.querySelector(selector)?.textContent?.includes(text))
      setTimeout(() => document.documentElement.setAttribute('data-seen', String(performance.now())));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
