import type { Page } from 'playwright-core';
import { inBrowser } from './in-browser.ts';
import type { Samples } from './measure.ts';

const STEP_PX = 240;

interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  tdur?: number;
  pid: number;
  tid: number;
}

export interface FrameTimes {
  /** CPU time of the tab's main thread for each frame, in milliseconds. Other load on the machine does not count. */
  cpu: Samples;
  /** Frames that were drawn per second. */
  rate: number;
}

/** Scrolls the tab down and up again, a step with each frame. */
export async function frameTimes(page: Page, frames: number): Promise<FrameTimes> {
  const browser = page.context().browser()!;
  await page.bringToFront();
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] });
  const took = await page.evaluate(
    inBrowser('scroll-frames', 'scrollFrames', String(frames), String(STEP_PX)),
  );
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  return { cpu: cpuPerFrame(traceEvents, frames), rate: Math.round((frames * 1_000) / Number(took)) };
}

/** Sums the tasks of the thread that ran the frames, from one frame to the next. */
function cpuPerFrame(events: TraceEvent[], frames: number): Samples {
  const drawn = events
    .filter(({ name }) => name === 'FireAnimationFrame')
    .toSorted((one, other) => one.ts - other.ts);
  const { pid, tid } = drawn[0] ?? {};
  const tasks = events
    .filter(one => one.pid === pid && one.tid === tid && one.ph === 'X' && /RunTask$/.test(one.name))
    .toSorted((one, other) => one.ts - other.ts);
  if (drawn.length < frames / 2 || tasks.length === 0)
    throw new Error(`${drawn.length} frames and ${tasks.length} tasks were seen: this would measure nothing`);
  const cpu: Samples = [];
  let at = 0;
  for (const [index, { ts }] of drawn.entries()) {
    const end = drawn[index + 1]?.ts ?? Number.POSITIVE_INFINITY;
    let sum = 0;
    // The task that fires the frame begins before the frame.
    while (at < tasks.length && tasks[at]!.ts + 1 < ts && index === 0) at++;
    for (; at < tasks.length && tasks[at]!.ts < end; at++) sum += (tasks[at]!.tdur ?? 0) / 1_000;
    cpu.push(sum);
  }
  return cpu.slice(0, -1);
}
