import { promptFromStdin, scriptedAgent } from '../engines/scripted/agent.ts';

const { env } = process;
const replaceKilledHub = async () => {
  const [{ replaceKilledHub: replace }, { hubProgram }] = await Promise.all([
    import('../link/replace-killed-hub.ts'),
    import('../link/program.ts'),
  ]);
  await replace(env, hubProgram);
};

void scriptedAgent(promptFromStdin(), { env, replaceKilledHub }, process.argv.includes('--continue')).then(
  code => {
    process.exitCode = code;
  },
);
