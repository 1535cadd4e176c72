/** `node move-and-die.ts MOVE STEP`: moves a target and kills itself at that step, like a hub that is killed. */
import { createIntegration } from '../integration/integration.ts';

const [move = '', step] = process.argv.slice(2);
await createIntegration(process.env).move(JSON.parse(move), name => {
  if (name === step) process.kill(process.pid, 'SIGKILL');
});
