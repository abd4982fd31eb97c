/** `kinora video watch`. */
import { connect } from '../connection/connect.ts'
import { checkOutput } from '../connection/output-file.ts'
import { printJson } from '../terminal/print.ts'
import { deliverVideo, saveFile, type ResultInput } from './deliver.ts'
import { followVideo } from './follow.ts'

export const watchVideo = async (
  input: ResultInput & { id: string; profile: string | undefined },
): Promise<void> => {
  const { id, json, output } = input
  await checkOutput(output)
  const { kinora } = await connect(input)
  if (!json) return deliverVideo(kinora, await followVideo(kinora, id, undefined), input)
  // The last of the events is the finished video.
  await followVideo(kinora, id, output === '-' ? () => undefined : printJson)
  if (output !== undefined) await saveFile(await kinora.videos.content(id), output)
}
