/** `node move-and-die.ts MOVE STEP`: moves a target, and is killed at that step as a hub would be. */
import { createIntegration } from '../integration/integration.ts';

const [move = '', step] = process.argv.slice(2);
await createIntegration(process.env).move(JSON.parse(move), name => {
  if (name === step) process.kill(process.pid, 'SIGKILL');
});
