/** The messages between the provider and the process of a model. */

/** `more` grants the run one more chunk. A run starts with a credit of `chunksAhead` chunks. */
export type ToModel<Task> =
  | { type: 'run'; run: number; task: Task }
  | { type: 'more'; run: number }
  | { type: 'stop'; run: number }

export type FromModel<Chunk> =
  | { type: 'chunk'; run: number; chunk: Chunk }
  | { type: 'end'; run: number }
  | { type: 'failed'; run: number; message: string; code: string | undefined }

/** How many chunks a model may produce ahead of its reader. */
export const chunksAhead = 2
