import { main } from '../cli/main.ts';

void main(process.argv).then(code => {
  process.exitCode = code;
});
