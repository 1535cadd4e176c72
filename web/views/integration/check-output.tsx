import { useEffect, useState } from 'preact/hooks';
import { visibleText } from '../../../src/base/text.ts';
import { call } from '../../state/api.ts';

/** Interval of reads. It is short, so that the output looks live. A read is cheap, because the output is short. */
const READ_EVERY_MS = 500;

/** Shows the end of the running check's output and updates it. */
export function CheckOutput() {
  const [output, setOutput] = useState<string | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout>;
    const stop = new AbortController();
    const read = async () => {
      // An error is ignored, because the connection may be lost. There is no check in the answer when the check has
      // just ended.
      const answer = await call('show_check', {}, { signal: stop.signal }).catch(() => null);
      if (stop.signal.aborted) return;
      if (answer?.check) setOutput(answer.check.output);
      timer = setTimeout(read, READ_EVERY_MS);
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, []);
  if (output === null) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable
    <pre class="check-output" tabIndex={0}>
      <span class="unseen">Output of the check so far: </span>
      {visibleText(output) || 'No output yet'}
    </pre>
  );
}
