/** Records when the last line of a text is drawn and visible, by the clock of the browser. */
export function seeLastLine(last: string): void {
  const look = () => {
    let end = document.querySelector('.out-lines, pre');
    while (end?.lastElementChild) end = end.lastElementChild;
    const isThere = end?.textContent?.slice(-200).includes(last);
    if (isThere && end!.getBoundingClientRect().bottom <= innerHeight)
      setTimeout(() => document.documentElement.setAttribute('data-seen', String(performance.now())));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}
