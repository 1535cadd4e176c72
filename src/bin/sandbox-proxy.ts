import { runProxy, runRoomHelper } from '../process/sandbox/proxy.ts';

const [what, argument] = process.argv.slice(2);
if (what === 'room') void runRoomHelper(Number(argument));
else runProxy(what!, argument!);
