/** Scrolls the tab down and up again, a step with each frame. Returns the time that the frames took, in milliseconds. */
export function scrollFrames(frames: string, stepPx: string): Promise<number> {
  return new Promise(done => {
    const start = performance.now();
    let at = 0;
    let by = Number(stepPx);
    const step = () => {
      const before = scrollY;
      scrollBy(0, by);
      if (scrollY === before) by = -by;
      if (++at < Number(frames)) requestAnimationFrame(step);
      else done(performance.now() - start);
    };
    requestAnimationFrame(step);
  });
}
