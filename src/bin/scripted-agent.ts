import { promptFromStdin, scriptedAgent } from '../engines/scripted/agent.ts';

void scriptedAgent(promptFromStdin(), process.env, process.argv.includes('--continue')).then(code => {
  process.exitCode = code;
});
