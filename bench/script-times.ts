import type { Page } from 'playwright-core';
import type { Samples } from './measure.ts';

interface TraceEvent {
  name: string;
  ph: string;
  ts: number;
  dur?: number;
  pid: number;
  tid: number;
}

/** Names of events in a trace of Chromium that run scripts of the tab. */
const SCRIPT =
  /^(FunctionCall|FireAnimationFrame|TimerFire|EventDispatch|RunMicrotasks|v8\.callFunction|EvaluateScript)$/;

export interface ScriptTimes {
  /** Script time caused by input, network or frames, summed for each window that had any, in milliseconds. */
  moved: Samples;
  /** Script time of each timer callback, in milliseconds. */
  timed: Samples;
}

/** Script time of a tab, grouped by what triggered the script. */
export async function scriptTimes(
  page: Page,
  { seconds, windowMs }: { seconds: number; windowMs: number },
): Promise<ScriptTimes> {
  const browser = page.context().browser()!;
  await page.bringToFront();
  await browser.startTracing(page, { categories: ['devtools.timeline', 'v8.execute'] });
  await new Promise(wake => setTimeout(wake, seconds * 1000));
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const script = traceEvents.filter(
    ({ name, ph, dur }) => ph === 'X' && dur !== undefined && SCRIPT.test(name),
  );
  const perWindow = new Map<number, number>();
  const timed: Samples = [];
  for (const { start, end, name } of union(onBusiestThread(script))) {
    const took = (end - start) / 1000;
    const window = Math.floor(start / 1000 / windowMs);
    if (name === 'TimerFire') timed.push(took);
    else perWindow.set(window, (perWindow.get(window) ?? 0) + took);
  }
  if (perWindow.size === 0) throw new Error('No script was seen: this would measure nothing');
  return { moved: [...perWindow.values()], timed };
}

/** The trace covers the whole browser: the tab in front is the one with the most script time. */
function onBusiestThread(events: TraceEvent[]): TraceEvent[] {
  const byThread = Map.groupBy(events, ({ pid, tid }) => `${pid} ${tid}`);
  return [...byThread.values()].sort((one, other) => other.length - one.length)[0] ?? [];
}

/** Merges overlapping events, so that nested events are counted once, by the name of the outermost. */
function union(events: TraceEvent[]): { start: number; end: number; name: string }[] {
  const stretches: { start: number; end: number; name: string }[] = [];
  const sorted = events.toSorted((one, other) => one.ts - other.ts || other.dur! - one.dur!);
  for (const { ts, dur, name } of sorted) {
    const last = stretches.at(-1);
    if (last && ts < last.end) last.end = Math.max(last.end, ts + dur!);
    else stretches.push({ start: ts, end: ts + dur!, name });
  }
  return stretches;
}
