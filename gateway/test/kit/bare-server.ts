/** A minimal server in its own process. Its response times show how busy the machine is. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const program = `require('node:http')
  .createServer((_, response) => response.end('{}'))
  .listen(0, '127.0.0.1', function () { console.log(this.address().port) })`

export const startBareServer = async () => {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return {
    port: Number(line.toString()),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}
