/** Scrolls the page to its end and back for `ms`, a little in every frame. Returns frames per second and the longest frame. */
export function scrollFrames(ms: string): Promise<{ perSecond: number; longest: number }> {
  const step = 120;
  return new Promise(settle => {
    const start = performance.now();
    let [last, frames, longest, by] = [start, 0, 0, step];
    const frame = () => {
      const at = performance.now();
      frames++;
      longest = Math.max(longest, at - last);
      last = at;
      if (at - start > Number(ms)) return settle({ perSecond: (frames * 1_000) / (at - start), longest });
      const before = scrollY;
      scrollBy(0, by);
      if (scrollY === before) by = -by;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
}
