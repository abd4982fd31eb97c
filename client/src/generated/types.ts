// Generated from the contract by `npm run generate`. Do not edit.
import type { EventStream } from '../event-stream.ts'
import type { List } from '../list.ts'
import type { MediaFile } from '../media-file.ts'
import type { RequestOptions } from '../transport.ts'
import type { Upload } from '../upload.ts'

export type Event = {
/** Id of the event: the same at every read and in every webhook. */
id: string
/** The type of this object: always `event`. */
object: "event"
/** What happened. */
type: "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
/** When it happened. Unix time in seconds. */
created_at: number
/** The object that the event is about, with its `id`. Of a task, there are also its `status` and, if it is known, its `progress`: read the task for the rest. */
data: {
[name: string]: unknown
}
}
export type FamilyAVideoForm = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** Description of the video to generate. */
prompt: string
/** Duration of the video in seconds. */
seconds: number
/** Landscape (`16x9`) or portrait (`720x1280`). */
size: "16x9" | "720x1280"
/** The image that the video starts from: a file, a URL or a data URI. */
input_reference: Upload | string | { image_url: string }
/** An MP4 video that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_video` in `GET /v1/models` is true; others ignore it. */
reference_video?: Upload | string
/** Audio that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_audio` in `GET /v1/models` is true; others ignore it. */
reference_audio?: Upload | string
/** Whether the video has sound. Only for models whose `sound` in `GET /v1/models` is `optional`; others ignore it. */
sound?: boolean
/** Whether the video carries a watermark. */
watermark?: boolean
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `video.completed` and `video.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed")[]
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type FamilyBVideoForm = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** Description of the video to generate. */
prompt: string
/** Duration of the video in seconds. */
seconds: 4 | 8 | 10 | 12 | 15 | 25
/** Width and height of the video in pixels. */
size: "720x1280" | "1280x720" | "480x480" | "1080x1080"
/** A reference image: a file, a URL or a data URI. */
input_reference?: Upload | string | { image_url: string }
/** An MP4 video that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_video` in `GET /v1/models` is true; others ignore it. */
reference_video?: Upload | string
/** Audio that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_audio` in `GET /v1/models` is true; others ignore it. */
reference_audio?: Upload | string
/** Whether the video has sound. Only for models whose `sound` in `GET /v1/models` is `optional`; others ignore it. */
sound?: boolean
/** Whether the video carries a watermark. */
watermark?: boolean
/** Whether to keep the video unpublished. */
private?: boolean
/** Name of a style preset, passed to the model's provider. */
style?: string
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
/** URL of a video from which to create a character for this video. */
character_url?: string
/** The part of the character video to use: `<start>,<end>` in seconds, between one and three seconds long. */
character_timestamps?: string
/** Id of a completed task of your account from which to create a character. */
character_from_task?: string
/** How to create the character. Ignored if the request has no character video or task. */
character_create?: {
/** Accepted for compatibility. A character always gets a portrait. */
create_self_portrait?: boolean
/** Whether to save the character in the account's list of characters. */
save_to_library?: boolean
}
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `video.completed` and `video.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed")[]
}
export type CreateVideoParams = FamilyAVideoForm | FamilyBVideoForm
export type Quote = {
/** The type of this object: always `quote`. */
object: "quote"
/** Id of the model; null if no model is involved. */
model: string | null
/** The parameters of the request, including defaults. */
parameters: unknown
/** How the price is calculated. */
lines: (PriceLine)[]
/** The price, or its maximum if the price depends on the output. In millionths of `currency`. */
total_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Whether the key could pay this price now. */
fits: boolean
/** Why the key cannot pay this price; null if it can. */
refusal: {
/** The error code that the request would get. */
code: string
/** The error message that the request would get. */
message: string
} | null
}
export type PriceLine = {
/** The unit of the price, such as `second`. */
unit: string
/** Price of one unit. In millionths of `currency`. */
unit_micros: number
/** How many seconds, calls, images, characters or tokens were counted. Decimal text with at most three decimals. */
quantity: string
/** How many of them are in one unit, such as 60 seconds in a `minute`. `total_micros` is `unit_micros` times `quantity` divided by `unit_size`, rounded up. */
unit_size: number
/** Price of all units. In millionths of `currency`. */
total_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Version of the price, if an operator set it. */
version?: number
/** The resolution that the price is for, if it is only for one. */
resolution?: string
/** Whether the price is for videos with sound, if it depends on it. */
sound?: boolean
/** The kind of input that the price is for, if it depends on it. */
input?: string
}
export type Video = {
/** Id of the task. */
id: string
/** The type of this object: always `video`. */
object: "video"
/** The model that generates the video, by the name in the request: its id or an alias. */
model: string
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** Progress in percent. */
progress: number
/** When the task was created. Unix time in seconds. */
created_at: number
/** Duration of the video in seconds. */
seconds: number
/** Size of the video, as given in the request. */
size: string
/** Signed URL of the video; null until the task is completed. */
video_url: string | null
/** The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original. */
enhanced_prompt: string
/** When the status last changed. Unix time in seconds. */
status_update_time: number
/** Id of the task that this video is a remix of; null if it is not a remix. */
remixed_from_video_id: string | null
/** The metadata that was sent with the request. */
metadata: {
[name: string]: string | number | boolean
}
/** Why the task failed. Present only if it failed. */
error?: Failure
/** Present while the task waits because the response to the generation request was lost: the video may or may not be in the making. */
notice?: Notice
}
/** Why the task failed. Present only if it failed. */
export type Failure = {
/** Why the task failed, as an error code for programs. */
code: string
/** Why the task failed, as a sentence for people. */
message: string
}
/** Present while the task waits because the response to the generation request was lost: the video may or may not be in the making. */
export type Notice = {
/** What the notice is about. */
code: "response_lost"
/** The notice in a sentence. */
message: string
/** When the task fails, without a charge, if nothing more is learned about the video. Unix time in seconds. */
until: number
}
export type GetVideoParams = {
/** Wait up to this many seconds for the task to complete or fail before responding. Equivalent to `Prefer: wait=<seconds>`. */
wait?: number
/** With `change`, respond as soon as the status or the progress changes. Equivalent to `Prefer: wait=<seconds>, until=change`. */
until?: "final" | "change"
}
export type ListVideosParams = {
/** Maximum number of items to return. */
limit?: number
/** Return the items that follow this id. Use the `last_id` of the previous page. */
after?: string
/** Sort by creation time: oldest first (`asc`) or newest first (`desc`). */
order?: "asc" | "desc"
/** Only tasks in one of these states, such as `pending,processing`. `queued` and `in_progress` mean the same as `pending` and `processing`. */
status?: string
/** Only tasks of this model. An alias finds the tasks that were created with it. */
model?: string
/** Only tasks created at or after this time. Unix time in seconds. */
created_after?: number
/** Only tasks created before this time. Unix time in seconds. */
created_before?: number
/** Only tasks that this key created. */
key_id?: string
/** Only tasks with this text in their prompt, in upper or lower case. The search reads tasks in the order of the list. If it takes too long to find a page, it is rejected with `invalid_parameter`; then use other filters as well. */
q?: string
/** Only those with all of these values in their metadata, such as `metadata[team]=red`. Numbers and booleans are compared as text. */
metadata?: Record<string, string | number | boolean>
/** With `details`, each video has the object `details`: its prompt, price and estimates. */
include?: "details"
}
/** More about the task. Only with `include=details`. */
export type VideoDetails = {
/** The prompt of the request. */
prompt: string
/** Id of the key that created the task. */
key_id: string
/** Amount held for the task, which is its price. In millionths of `currency`. */
hold_micros: number
/** Amount charged; null until the task has ended. In millionths of `currency`. */
captured_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the video was completed; null until then. Unix time in seconds. */
completed_at: number | null
/** When the video expires and can no longer be downloaded; null if unknown. Unix time in seconds. */
expires_at: number | null
/** The values of `variant` that `GET /v1/videos/{id}/content` accepts now; empty while there is no video. Images are made when they are first requested, which can fail for an unusual file. */
variants: ("video" | "thumbnail" | "spritesheet")[]
/** How many waiting tasks start before this one. Present while the task waits for a slot. The queue is fair across accounts, so tasks that arrive later may start first. Equal to the header `X-Queue-Position: <min>-<max>` of status reads. */
queue_position?: {
/** In the best case. */
min: number
/** In the worst case. */
max: number
}
/** How many seconds it takes until the video is generated, from the durations of most earlier tasks of the model. Absent while it is unknown. Equal to the header `X-Time-Left: <min>-<max>` of status reads. */
time_left_seconds?: {
/** In the best case. */
min: number
/** In the worst case. */
max: number
}
}
export type ListVideosResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The video tasks on this page. */
data: ({
/** Id of the task. */
id: string
/** The type of this object: always `video`. */
object: "video"
/** The model that generates the video, by the name in the request: its id or an alias. */
model: string
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** Progress in percent. */
progress: number
/** When the task was created. Unix time in seconds. */
created_at: number
/** Duration of the video in seconds. */
seconds: number
/** Size of the video, as given in the request. */
size: string
/** Signed URL of the video; null until the task is completed. */
video_url: string | null
/** The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original. */
enhanced_prompt: string
/** When the status last changed. Unix time in seconds. */
status_update_time: number
/** Id of the task that this video is a remix of; null if it is not a remix. */
remixed_from_video_id: string | null
/** The metadata that was sent with the request. */
metadata: {
[name: string]: string | number | boolean
}
/** Why the task failed. Present only if it failed. */
error?: Failure
/** Present while the task waits because the response to the generation request was lost: the video may or may not be in the making. */
notice?: Notice
/** More about the task. Only with `include=details`. */
details?: VideoDetails
})[]
/** Id of the last item on this page; null if the page is empty. */
last_id: string | null
/** Whether more items follow this page. */
has_more: boolean
/** Id of the first item on this page; null if the page is empty. */
first_id: string | null
}
export type ListVideosItem = {
/** Id of the task. */
id: string
/** The type of this object: always `video`. */
object: "video"
/** The model that generates the video, by the name in the request: its id or an alias. */
model: string
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** Progress in percent. */
progress: number
/** When the task was created. Unix time in seconds. */
created_at: number
/** Duration of the video in seconds. */
seconds: number
/** Size of the video, as given in the request. */
size: string
/** Signed URL of the video; null until the task is completed. */
video_url: string | null
/** The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original. */
enhanced_prompt: string
/** When the status last changed. Unix time in seconds. */
status_update_time: number
/** Id of the task that this video is a remix of; null if it is not a remix. */
remixed_from_video_id: string | null
/** The metadata that was sent with the request. */
metadata: {
[name: string]: string | number | boolean
}
/** Why the task failed. Present only if it failed. */
error?: Failure
/** Present while the task waits because the response to the generation request was lost: the video may or may not be in the making. */
notice?: Notice
/** More about the task. Only with `include=details`. */
details?: VideoDetails
}
export type DeleteVideoResponse = {
/** Id of the task. */
id: string
/** The type of this object: always `video.deleted`. */
object: "video.deleted"
/** Always `true`. */
deleted: true
}
export type GetVideoContentParams = {
/** Which file to download. */
variant?: "video" | "thumbnail" | "spritesheet"
}
export type FollowVideoParams = {
/** Resume after this event. For clients that cannot set the `Last-Event-ID` header. */
last_event_id?: string
}
export type VideoEvent = {
/** Id of the task. */
id: string
/** The type of this object: always `video`. */
object: "video"
/** The model that generates the video, by the name in the request: its id or an alias. */
model: string
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** Progress in percent. */
progress: number
/** When the task was created. Unix time in seconds. */
created_at: number
/** Duration of the video in seconds. */
seconds: number
/** Size of the video, as given in the request. */
size: string
/** Signed URL of the video; null until the task is completed. */
video_url: string | null
/** The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original. */
enhanced_prompt: string
/** When the status last changed. Unix time in seconds. */
status_update_time: number
/** Id of the task that this video is a remix of; null if it is not a remix. */
remixed_from_video_id: string | null
/** The metadata that was sent with the request. */
metadata: {
[name: string]: string | number | boolean
}
/** Why the task failed. Present only if it failed. */
error?: Failure
/** Present while the task waits because the response to the generation request was lost: the video may or may not be in the making. */
notice?: Notice
/** How many waiting tasks start before this one. Present while the task waits for a slot. The queue is fair across accounts, so tasks that arrive later may start first. Equal to the header `X-Queue-Position: <min>-<max>` of status reads. */
queue_position?: {
/** In the best case. */
min: number
/** In the worst case. */
max: number
}
/** How many seconds it takes until the video is generated, from the durations of most earlier tasks of the model. Absent while it is unknown. Equal to the header `X-Time-Left: <min>-<max>` of status reads. */
time_left_seconds?: {
/** In the best case. */
min: number
/** In the worst case. */
max: number
}
}
/** Why the task failed and what to do; null if it has not failed. */
export type FailureExplanation = {
/** Why the task failed, in plain sentences. */
cause: string
/** What to do about it, in plain sentences. */
what_to_do: string
/** What the failed task cost. In millionths of `currency`. */
charged_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Whether the unchanged request can be sent again: the failure was not due to its content, and it is not charged twice. */
is_repeat_safe: boolean
}
/** The video that this one was made from, and those that were made from it. */
export type Lineage = {
/** The video that this one is a remix of; null if it is not a remix. */
source: {
/** Id of the task that this one is a remix of. */
id: string
/** The first 200 characters of its prompt; null if the task was deleted, and for operators, who read prompts in the order of a task. */
prompt: string | null
/** State of the source; null if the task was deleted. */
status: string | null
} | null
/** The newest 100 remixes of this video, newest first. */
remixes: ({
/** Id of the remix. */
id: string
/** When the remix was created. Unix time in seconds. */
created_at: number
/** State of the remix. */
status: string
})[]
}
export type GetVideoTimelineResponse = {
/** Id of the task. */
id: string
/** The type of this object: always `video.timeline`. */
object: "video.timeline"
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** When the task was created. Unix time in seconds. */
created_at: number
/** When the task ended; null until then. Unix time in seconds. */
finished_at: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** More about the task. */
details: VideoDetails
/** What the request that created the task asked for, besides model, prompt and duration. */
request: {
/** Width of the video in pixels. */
width: number
/** Height of the video in pixels. */
height: number
/** Whether the video was to carry a watermark. */
watermark: boolean
/** Whether the video was to stay unpublished. */
private: boolean
/** Whether the video was to have sound. */
sound: boolean
/** Name of the style preset; null without one. */
style: string | null
/** Whether the prompt was to be rewritten. */
enhance_prompt: boolean
/** Usernames of the characters of the video, whether or not they still exist. */
characters: (string)[]
/** How many images, videos and recordings the request had. They are deleted when the task ends. */
files: number
}
/** The steps in the order in which they began. Steps may overlap: webhooks are delivered while the task continues. */
steps: ({
/** `accepted`: the request created the task. `hold`: its price was held. `queue`: it waited for a slot. `submit`: an attempt to hand it to a provider. `generate`: the provider worked on it. `store`: the result was downloaded, checked and stored. `transcribe`: a recording was transcribed. `settle`: the hold was captured or released. `refund`: a part of the charge was returned. `webhook`: an attempt to deliver an event to a webhook endpoint, or the wait for one. */
kind: "accepted" | "hold" | "queue" | "submit" | "generate" | "store" | "transcribe" | "settle" | "refund" | "webhook"
/** When the step began. Unix time in seconds. */
started_at: number
/** When the step ended; null while it is in progress. Unix time in seconds. */
ended_at: number | null
/** Milliseconds from the creation of the task to the start of the step. */
offset_ms: number
/** Duration of the step in milliseconds; null while it is in progress. */
duration_ms: number | null
/** Number of the attempt, counted from 1. Only of `submit` and `webhook`, otherwise null. */
attempt: number | null
/** How the step ended; null while it is in progress. `accepted`: `accepted`. `hold`: `held`. `queue`: `started` or `failed`. `submit`: `accepted`, `rejected`, `moderated`, `failed`, or `unknown` if the response was lost. `generate`: `done` or `failed`. `store`: `stored` or `failed`. `transcribe`: `done` or `failed`. `settle`: `captured` or `released`. `refund`: `refunded`. `webhook`: `delivered` or `failed`. */
outcome: string | null
/** More about the step as a sentence; null if there is nothing to add. */
detail: string | null
/** Name of the provider. Only operators see it; null for customers. */
provider: string | null
/** The amount of a `hold`, `settle` or `refund`. In millionths of `currency`. */
amount_micros?: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Of `accepted`: id of the HTTP request that created the task, as in `X-Request-Id`; null if it is not in the request log, where requests appear after a moment. */
request_id?: string | null
/** Of `generate`: how often the provider was asked for the result; null if unknown. */
polls?: number | null
/** Of `generate`: when the provider was last asked; null if never, or if unknown. Unix time in seconds. */
last_poll_at?: number | null
/** Of `webhook`: id of the delivery. */
delivery_id?: string
/** Of `webhook`: type of the event, such as `video.completed`. */
event_type?: string
/** Of `webhook`: HTTP status of the response; null if there was none. */
status?: number | null
})[]
/** Why the task failed and what to do; null if it has not failed. */
explanation: FailureExplanation | null
/** The video that this one was made from, and those that were made from it. */
lineage: Lineage
}
export type RemixBody = {
/** Description of the video to generate. */
prompt: string
/** Width and height of the new video in pixels. Defaults to the size of the original. */
size?: "720x1280" | "1280x720" | "480x480" | "1080x1080"
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `video.completed` and `video.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed")[]
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type RemixVideoParams = RemixBody
export type EditBody = {
/** Description of the video to generate. */
prompt: string
/** The video to edit: one of your completed videos. Uploaded videos are not supported. */
video: {
/** Id of the completed video. */
id: string
}
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `video.completed` and `video.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed")[]
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type EditVideoParams = EditBody
export type FamilyAVideoTask = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** Description of the video to generate. */
prompt: string
/** Whether to rewrite the prompt and translate it into English. */
enhance_prompt?: boolean
/** Whether to upscale the video. */
enable_upsample?: boolean
/** Landscape (`16:9`) or portrait (`9:16`). */
aspect_ratio?: "16:9" | "9:16"
/** Reference images, as URLs or data URIs. */
images?: (string)[]
/** The role of each image, in the same order. Only for models that have several roles in `GET /v1/models`. Default: the roles of the model in their order. */
image_roles?: ("first_frame" | "last_frame" | "reference" | "style")[]
/** An MP4 video that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_video` in `GET /v1/models` is true; others ignore it. */
reference_video?: Upload | string
/** Audio that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_audio` in `GET /v1/models` is true; others ignore it. */
reference_audio?: Upload | string
/** Whether the video has sound. Only for models whose `sound` in `GET /v1/models` is `optional`; others ignore it. */
sound?: boolean
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `video.completed` and `video.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed")[]
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type FamilyBVideoTask = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** Description of the video to generate. */
prompt: string
/** Reference images, as URLs or data URIs. At least one. */
images: (string)[]
/** The role of each image, in the same order. Only for models that have several roles in `GET /v1/models`. Default: the roles of the model in their order. */
image_roles?: ("first_frame" | "last_frame" | "reference" | "style")[]
/** An MP4 video that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_video` in `GET /v1/models` is true; others ignore it. */
reference_video?: Upload | string
/** Audio that the new video is based on. At most 60 seconds long: a file (only on `POST /v1/videos`) or a URL. Only for models whose `reference_audio` in `GET /v1/models` is true; others ignore it. */
reference_audio?: Upload | string
/** Whether the video has sound. Only for models whose `sound` in `GET /v1/models` is `optional`; others ignore it. */
sound?: boolean
/** Orientation of the video. */
orientation?: "portrait" | "landscape"
/** Resolution: `small` is about 720p, `large` about 1080p. */
size?: "small" | "large"
/** Duration of the video in seconds. */
duration?: 10 | 15 | 25
/** Whether the video carries a watermark. */
watermark?: boolean
/** Whether to keep the video unpublished. */
private?: boolean
/** URL of a video from which to create a character for this video. */
character_url?: string
/** The part of the character video to use: `<start>,<end>` in seconds, between one and three seconds long. */
character_timestamps?: string
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `video.completed` and `video.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed")[]
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type CreateVideoTaskParams = FamilyAVideoTask | FamilyBVideoTask
export type CreatedVideoTask = {
/** Id of the task. */
id: string
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** When the status last changed. Unix time in seconds. */
status_update_time: number
/** The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original. */
enhanced_prompt: string
}
export type QueryVideoTaskParams = {
/** Id of the task. Required. */
id?: string
/** Wait up to this many seconds for the task to complete or fail before responding. Equivalent to `Prefer: wait=<seconds>`. */
wait?: number
/** With `change`, respond as soon as the status or the progress changes. Equivalent to `Prefer: wait=<seconds>, until=change`. */
until?: "final" | "change"
}
export type VideoTaskView = {
/** Id of the task. */
id: string
/** State of the task. In the `openai` dialect, `queued` and `in_progress` replace `pending` and `processing`. */
status: "pending" | "processing" | "completed" | "failed" | "queued" | "in_progress"
/** Signed URL of the video; null until the task is completed. */
video_url: string | null
/** The prompt for the model: the rewritten prompt if `enhance_prompt` is set, otherwise the original. */
enhanced_prompt: string
/** When the status last changed. Unix time in seconds. */
status_update_time: number
/** Why the task failed. Present only if it failed. */
error?: Failure
/** Present while the task waits because the response to the generation request was lost: the video may or may not be in the making. */
notice?: Notice
/** The metadata that was sent with the request. */
metadata?: {
[name: string]: string | number | boolean
}
}
export type CharacterBody = {
/** URL of a video that shows the character. Send either `url` or `from_task`. */
url?: string
/** Id of a completed task of your account. Send either `url` or `from_task`. */
from_task?: string
/** The part of the video to use: `<start>,<end>` in seconds, between one and three seconds long. */
timestamps?: string
}
export type CreateCharacterParams = CharacterBody
export type Character = {
/** Id of the character. */
id: string
/** Name of the character. Refer to it in prompts as `@<username>`. */
username: string
/** URL of the character's page. */
permalink: string
/** Signed URL of the character's portrait. */
profile_picture_url: string
}
export type ListCharactersParams = {
/** Maximum number of items to return. */
limit?: number
/** Return the items that follow this id. Use the `last_id` of the previous page. */
after?: string
/** Sort by creation time: oldest first (`asc`) or newest first (`desc`). */
order?: "asc" | "desc"
}
export type ListCharactersResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The characters on this page. */
data: (Character)[]
/** Id of the last item on this page; null if the page is empty. */
last_id: string | null
/** Whether more items follow this page. */
has_more: boolean
}
export type CharacterRename = {
/** The new name. It must be unique on this instance. */
username: string
}
export type RenameCharacterParams = CharacterRename
export type DeleteCharacterResponse = {
/** Id of the character. */
id: string
/** The type of this object: always `character.deleted`. */
object: "character.deleted"
/** Always `true`. */
deleted: true
}
export type ShowCharacterParams = {
/** Unix time in seconds at which the link expires. Only in links to private characters. */
expires?: string
/** Id of the secret that signed the link. */
key?: string
/** Signature of the link. */
signature?: string
}
export type ChatBody = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** The conversation. The last message of the user describes the video. */
messages: ({
[name: string]: unknown
})[]
/** Whether to stream the reply as server-sent events. */
stream?: boolean
/** Number of videos. Only 1 is supported. */
n?: 1
/** Sampling temperature. Higher values make the output more random. */
temperature?: number
/** Nucleus sampling: only tokens within this cumulative probability are considered. */
top_p?: number
/** Validated, but without effect: the length of a video is not counted in tokens. */
max_tokens?: number
/** Validated, but without effect, like `max_tokens`. */
max_completion_tokens?: number
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type DialogueBody = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** The conversation. */
messages: ({
/** Author of the message. */
role: "system" | "developer" | "user" | "assistant"
/** Text, or a list of parts: `{type: "text", text}` and, from the user, `{type: "input_audio", input_audio: {data, format}}` with wav or mp3 in base64. */
content?: unknown
/** Refers to an earlier spoken reply. Only in messages of the assistant. */
audio?: {
/** Id of the spoken reply. */
id?: string
}
})[]
/** Types of output. `audio` requires the parameter `audio`. */
modalities?: ("text" | "audio")[]
/** Voice and format of a spoken reply. */
audio?: {
/** Name of one of the model's voices. */
voice: string
/** Format of the audio. */
format: "wav" | "mp3" | "flac" | "opus" | "pcm16" | "aac"
}
/** Sampling temperature. Higher values make the output more random. */
temperature?: number
/** Nucleus sampling: only tokens within this cumulative probability are considered. */
top_p?: number
/** Maximum number of tokens in the reply, up to the model's limit. */
max_tokens?: number
/** Like `max_tokens`. Takes precedence if both are present. */
max_completion_tokens?: number
/** Up to four strings. The reply ends before the first of them. */
stop?: string | (string)[]
/** Seed for sampling. The same seed gives the same reply, if the model supports it. */
seed?: number
/** Whether to stream the reply as server-sent events. Not available for spoken replies. */
stream?: boolean
/** Options of a streamed reply. */
stream_options?: {
/** Whether to send the usage in a last event. */
include_usage?: boolean
}
/** Number of replies. */
n?: number
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type CompleteChatParams = ChatBody | DialogueBody
export type ChatChunk = {
/** Id of the reply; the same in all events. */
id: string
/** The type of this object: always `chat.completion.chunk`. */
object: "chat.completion.chunk"
/** When the reply was created. Unix time in seconds. */
created: number
/** Id of the model. */
model: string
/** The choices that this event continues. */
choices: ({
/** Position of the choice, counted from 0. */
index: number
/** What this event adds to the message. */
delta: {
/** Always `assistant`. */
role?: "assistant"
/** The next part of the text. For a video model: one line with its newline, `task_id: <id>`, `progress: <percent>%` or `video_url: <url>`. */
content?: string
}
/** Why the reply ended: at its natural end or a stop string, at the token limit, or by the content filter. */
finish_reason: "stop" | "length" | "content_filter" | null
})[]
/** Number of tokens used. Only if requested, in the last event, which has no choices. */
usage?: ChatUsage | null
}
/** Number of tokens used. */
export type ChatUsage = {
/** Tokens of the messages. */
prompt_tokens: number
/** Tokens of the reply. */
completion_tokens: number
/** Sum of both. */
total_tokens: number
/** The tokens of the messages by type. */
prompt_tokens_details?: {
/** Tokens of text. */
text_tokens: number
/** Tokens of audio. */
audio_tokens: number
}
/** The tokens of the reply by type. */
completion_tokens_details?: {
/** Tokens of text. */
text_tokens: number
/** Tokens of audio. */
audio_tokens: number
}
}
export type ChatCompletion = {
/** Id of the reply. */
id: string
/** The type of this object: always `chat.completion`. */
object: "chat.completion"
/** When the reply was created. Unix time in seconds. */
created: number
/** Id of the model. */
model: string
/** The replies: as many as requested by `n`. */
choices: ({
/** Position of the choice, counted from 0. */
index: number
/** The message of the assistant. */
message: {
/** Always `assistant`. */
role: "assistant"
/** Text of the reply. For a video model: a link to the video. */
content: string
/** The spoken reply. Only if audio was requested. */
audio?: {
/** Id by which later messages can refer to this audio. */
id: string
/** Until when later messages can refer to this audio. Unix time in seconds. */
expires_at: number
/** The audio in base64. */
data: string
/** The spoken text. */
transcript: string
}
}
/** Why the reply ended: at its natural end or a stop string, at the token limit, or by the content filter. */
finish_reason: "stop" | "length" | "content_filter"
})[]
/** Number of tokens used. */
usage: ChatUsage
}
export type ListVoicesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The voices, in the order of the models. */
data: ({
/** Name of the voice, for the parameter `voice`. */
name: string
/** The type of this object: always `voice`. */
object: "voice"
/** Language in which it sounds native, such as `en-US`; null if unknown. */
language: string | null
/** How it sounds; null if unknown. */
gender: "female" | "male" | "neutral" | null
/** Models that have the voice, by id, or by alias if they have it only under that name. */
models: (string)[]
/** URL of a recording, free of charge and without a key; null for voices that only chat models have. */
sample: string | null
})[]
}
export type ListVoicesItem = {
/** Name of the voice, for the parameter `voice`. */
name: string
/** The type of this object: always `voice`. */
object: "voice"
/** Language in which it sounds native, such as `en-US`; null if unknown. */
language: string | null
/** How it sounds; null if unknown. */
gender: "female" | "male" | "neutral" | null
/** Models that have the voice, by id, or by alias if they have it only under that name. */
models: (string)[]
/** URL of a recording, free of charge and without a key; null for voices that only chat models have. */
sample: string | null
}
export type GetVoiceSampleParams = {
/** Unix time in seconds at which the link expires. */
expires: string
/** Id of the secret that signed the link. */
key: string
/** Signature of the link. */
signature: string
}
export type TranscriptionForm = {
/** The audio file: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm. The format is detected from the content. */
file: Upload
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** The spoken language, as an ISO 639-1 code. Detected if omitted. */
language?: string
/** Context for the model, such as the spelling of names in the recording. */
prompt?: string
/** Sampling temperature. Higher values make the output more random. */
temperature?: number
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
/** Format of the response. */
response_format?: "json" | "text" | "srt" | "vtt" | "verbose_json"
/** Granularity of the timestamps in `verbose_json`. `word` adds the start and end of every word. */
timestamp_granularities?: ("word" | "segment")[]
/** Whether to stream the text as server-sent events while it is recognized. */
stream?: boolean
}
export type CreateTranscriptionParams = TranscriptionForm
export type CreateTranscriptionEvent = {
/** The type of this event: always `transcript.text.delta`. */
type: "transcript.text.delta"
/** The next part of the text. */
delta: string
} | {
/** The type of this event: always `transcript.text.done`. */
type: "transcript.text.done"
/** The whole text. */
text: string
}
export type Transcription = {
/** The whole text. */
text: string
/** Whether the text is in the spoken language or translated into English. */
task?: "transcribe" | "translate"
/** English name of the language of the text, in lower case. */
language?: string
/** Duration of the recording in seconds. */
duration?: number
/** The segments of the text, with their times. */
segments?: (TranscriptSegment)[]
/** The words of the text, with their times. */
words?: ({
/** The word. */
word: string
/** Start, in seconds from the beginning of the recording. */
start: number
/** End, in seconds from the beginning of the recording. */
end: number
})[]
/** Billed usage. Only in the `openai` dialect. */
usage?: {
/** The request is billed by duration. */
type: "duration"
/** Seconds of audio, rounded up. */
seconds: number
}
}
export type TranscriptSegment = {
/** Position of the segment, counted from 0. */
id: number
/** Start, in seconds from the beginning of the recording. */
start: number
/** End, in seconds from the beginning of the recording. */
end: number
/** Text of the segment. */
text: string
/** Token ids of the text; empty if unknown. */
tokens: (number)[]
/** Temperature that was used for this segment. */
temperature: number
/** Average log probability of the tokens. */
avg_logprob: number
/** Compression ratio of the text. A high value indicates repetition. */
compression_ratio: number
/** Probability that the segment contains no speech. */
no_speech_prob: number
/** Seek offset of the segment. Only in the `openai` dialect. */
seek?: number
}
export type TranslationForm = {
/** The audio file: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm. The format is detected from the content. */
file: Upload
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** Context for the model, such as the spelling of names in the recording. */
prompt?: string
/** Format of the response. */
response_format?: "json" | "text" | "srt" | "vtt" | "verbose_json"
/** Sampling temperature. Higher values make the output more random. */
temperature?: number
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type CreateTranslationParams = TranslationForm
export type SpeechBody = {
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** The text to speak. */
input: string
/** Name of one of the model's voices, exactly as listed by `GET /v1/models`. */
voice: string | {
/** Name of the voice. */
id: string
}
/** Format of the audio. `pcm` is 24 kHz, 16 bit, mono. */
response_format?: "mp3" | "opus" | "aac" | "flac" | "wav" | "pcm"
/** Speaking rate. 1 is the normal rate of the voice. */
speed?: number
/** How to speak: tone, accent, pace. Models without this feature ignore it. */
instructions?: string
/** Whether to send the audio as plain bytes or as base64 in server-sent events. */
stream_format?: "audio" | "sse"
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
}
export type CreateSpeechParams = SpeechBody
export type CreateSpeechEvent = {
/** The type of this event: always `speech.audio.delta`. */
type: "speech.audio.delta"
/** The next bytes of the audio, in base64. */
audio: string
} | {
/** The type of this event: always `speech.audio.done`. */
type: "speech.audio.done"
}
export type TranscriptionTaskForm = {
/** The audio file: flac, mp3, mp4, mpeg, mpga, m4a, ogg, wav or webm. The format is detected from the content. */
file: Upload
/** Id of the model to use, as listed by `GET /v1/models`. */
model: string
/** The spoken language, as an ISO 639-1 code. Detected if omitted. */
language?: string
/** Context for the model, such as the spelling of names in the recording. */
prompt?: string
/** Sampling temperature. Higher values make the output more random. */
temperature?: number
/** Your own data about the request: up to 16 keys of at most 64 characters, with texts of at most 512 characters, numbers or booleans. An object, or its JSON text; in a form also `metadata[key]`. It is not sent to a provider. Usage can be grouped by it. */
metadata?: {
[name: string]: string | number | boolean
} | string
/** `transcribe` keeps the spoken language. `translate` produces English text, if the model supports it. */
task?: "transcribe" | "translate"
/** URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them. */
webhook_url?: string
/** Types of the events to send. Default: `transcription_task.completed` and `transcription_task.failed`. In a form: separated by commas, or one field `webhook_events[]` for each. Needs `webhook_url`. */
webhook_events?: ("transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed")[]
}
export type CreateTranscriptionTaskParams = TranscriptionTaskForm
export type TranscriptionTask = {
/** Id of the task. */
id: string
/** The type of this object: always `transcription.task`. */
object: "transcription.task"
/** Id of the model that transcribes the recording. */
model: string
/** Whether the text stays in the spoken language or is translated into English. */
task: "transcribe" | "translate"
/** State of the task. */
status: "pending" | "processing" | "completed" | "failed"
/** Progress in percent. */
progress: number
/** When the task was created. Unix time in seconds. */
created_at: number
/** When the task was completed; null until then. Unix time in seconds. */
completed_at: number | null
/** When the transcript expires; null until the task is completed. Unix time in seconds. */
expires_at: number | null
/** Duration of the recording in seconds. The price depends on it. */
duration: number
/** Why the task failed; null otherwise. */
error: Failure | null
/** The metadata that was sent with the request. */
metadata?: {
[name: string]: string | number | boolean
}
}
export type ListTranscriptionTasksParams = {
/** Maximum number of items to return. */
limit?: number
/** Return the items that follow this id. Use the `last_id` of the previous page. */
after?: string
/** Sort by creation time: oldest first (`asc`) or newest first (`desc`). */
order?: "asc" | "desc"
/** Only those with all of these values in their metadata, such as `metadata[team]=red`. Numbers and booleans are compared as text. */
metadata?: Record<string, string | number | boolean>
}
export type ListTranscriptionTasksResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The transcription tasks on this page. */
data: (TranscriptionTask)[]
/** Id of the last item on this page; null if the page is empty. */
last_id: string | null
/** Whether more items follow this page. */
has_more: boolean
/** Id of the first item on this page; null if the page is empty. */
first_id: string | null
}
export type GetTranscriptParams = {
/** Format of the response. */
response_format?: "json" | "text" | "srt" | "vtt" | "verbose_json"
}
export type DeleteTranscriptionTaskResponse = {
/** Id of the task. */
id: string
/** The type of this object: always `transcription.task.deleted`. */
object: "transcription.task.deleted"
/** Always `true`. */
deleted: true
}
export type Me = {
/** The type of this object: always `me`. */
object: "me"
/** The key of this request. */
key: {
/** Id of the key. */
id: string
/** Name of the key. */
name: string
/** Last characters of the secret, to tell keys apart. */
hint: string
/** Whether the key pays from the pay-as-you-go balance or from the subscription. */
kind: "payg" | "subscription"
/** Models that the key may use; null for all models. */
models: (string)[] | null
/** What the key may do: `create`, `read`, `account`. */
scopes: ("create" | "read" | "account")[]
/** When the key expires; null if it does not expire. Unix time in seconds. */
expires_at: number | null
/** Dialect of the responses to this key: `reference` or `openai`. */
dialect: string
}
/** The account of the key. */
account: {
/** Id of the account. */
id: string
/** Name of the account. */
name: string
/** `ok`, or `failed` if the last top-up was declined. */
payment_state: string
}
/** Balance of the wallet that the key pays from. */
balance: {
/** Amount that can be spent. In millionths of `currency`. */
available_micros: number
/** Amount held for running tasks and requests. In millionths of `currency`. */
held_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Total amount that the key may ever spend; null for no limit. */
quota: {
/** The limit. In millionths of `currency`. */
limit_micros: number
/** The part of the limit that is used. In millionths of `currency`. */
used_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
} | null
/** Amounts that the key may spend per period. */
budgets: ({
/** The period: `hour`, `day`, `week` or `month`. */
period: string
/** The limit. In millionths of `currency`. */
limit_micros: number
/** The part of the limit that is used. In millionths of `currency`. */
used_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the next period starts. Unix time in seconds. */
resets_at: number
})[]
/** Amount that the account may spend per calendar month; null for no limit. */
spend_cap: {
/** The limit. In millionths of `currency`. */
limit_micros: number
/** The part of the limit that is used. In millionths of `currency`. */
used_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the next month starts. Unix time in seconds. */
resets_at: number
} | null
/** The subscription; null for a pay-as-you-go key. */
subscription: {
/** Amount that one cycle may spend. In millionths of `currency`. */
cycle_quota_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the current cycle ends. Unix time in seconds. */
cycle_ends_at: number
/** When the subscription ends. Unix time in seconds. */
ends_at: number
} | null
/** Rate limits, in requests per minute. */
limits: {
/** The key's limit for all requests together; null for no limit. */
requests_per_minute: number | null
/** Requests that create videos, characters or transcription tasks. */
create: number
/** Requests that read or change existing resources. */
read: number
/** Requests for speech, transcriptions and translations. */
audio: number
/** Requests for chat completions. */
chat: number
}
/** Limits and current number of tasks. */
concurrency: {
/** Tasks that the account may run at once; null for no limit. */
per_account: number | null
/** Tasks that the key may run at once; null for no limit. */
per_key: number | null
/** Tasks of the account that are running now. */
in_flight: number
/** Tasks of the account that are queued now. */
waiting: number
}
}
export type GetUsageParams = {
/** Comma-separated list of `hour`, `day`, `model`, `key`, and `metadata.<key>` for up to five keys of your metadata. */
group_by?: string
/** Whether to count this key only or all keys of its account. */
scope?: "key" | "account"
/** Start of the period, inclusive. Unix time in seconds. */
from?: number
/** End of the period, exclusive. Unix time in seconds. */
to?: number
/** Only those with all of these values in their metadata, such as `metadata[team]=red`. Numbers and booleans are compared as text. */
metadata?: Record<string, string | number | boolean>
/** With `csv`, the response is a table of comma-separated values with a header line. */
format?: "json" | "csv"
}
export type UsageRow = {
/** Start of the hour or day of this row; null if the rows are not grouped by time. Unix time in seconds. */
period: number | null
/** Id of the model; null if not grouped by model. */
model: string | null
/** Id of the key; null if not grouped by key. */
key_id: string | null
/** Name of the key; null if not grouped by key. */
key_name: string | null
/** Id of the account; null if not grouped by account. */
account_id: string | null
/** Tasks and requests that ended in the period. */
requests: number
/** Those of them that succeeded. */
completed: number
/** Those of them that failed. */
failed: number
/** Amount charged. In millionths of `currency`. */
captured_micros: number
/** Amount refunded in the period, also for earlier tasks and requests. In millionths of `currency`. */
refunded_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Seconds of generated video or of processed audio. Decimal text with at most three decimals. */
seconds: string
/** The values of the metadata keys that the rows are grouped by, as text; a value is null for requests without the key, and those whose metadata was deleted. Null if not grouped by metadata. */
metadata: {
[name: string]: string | null
} | null
}
export type GetUsageResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (UsageRow)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type Receipt = {
/** The type of this object: always `receipt`. */
object: "receipt"
/** Id of the task or request. */
id: string
/** Id of the model. */
model: string
/** State of the task or request. */
status: string
/** How the price was calculated. */
lines: (PriceLine)[]
/** Amount held at the start. In millionths of `currency`. */
hold_micros: number
/** Amount charged; null until the task or request has ended. In millionths of `currency`. */
captured_micros: number | null
/** Part of the hold that was returned; null until the task or request has ended. In millionths of `currency`. */
released_micros: number | null
/** Part of the charge that was refunded later. In millionths of `currency`. */
refunded_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** The movements in the ledger. */
entries: ({
/** Kind of movement: `hold`, `capture`, `release`, `expiry` or `refund`. */
movement: string
/** Amount of the movement. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the movement was recorded. Unix time in seconds. */
created_at: number
})[]
}
export type OwnAccount = {
/** Id of the account. */
id: string
/** The type of this object: always `account`. */
object: "account"
/** Name of the account. */
name: string
/** The pay-as-you-go balance. */
balance: {
/** Amount that can be spent. In millionths of `currency`. */
available_micros: number
/** Amount held for running tasks and requests. In millionths of `currency`. */
held_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Amount that all keys of the account have spent in this calendar month (UTC), with what is held. In millionths of `currency`. */
spent_micros: number
/** When the next month starts. Unix time in seconds. */
spent_resets_at: number
/** Maximum amount that the account may spend per calendar month (UTC). Not above the operator's cap. Null for no limit besides that. In millionths of `currency`. */
spend_cap_micros: number | null
/** When the pay-as-you-go balance, with what is held, falls below this amount, the event `balance.low` occurs; again only after the balance was not below it. Null for no alert. In millionths of `currency`. */
balance_alert_micros: number | null
/** When the spending of a calendar month (UTC) reaches one of these amounts, the event `spend.threshold` occurs, once per month and amount. In millionths of `currency`. */
spend_alerts: (number)[]
/** The operator's cap per calendar month, which `spend_cap_micros` cannot exceed; null for none. In millionths of `currency`. */
operator_spend_cap_micros: number | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
export type OwnAccountBody = {
/** Maximum amount that the account may spend per calendar month (UTC). Not above the operator's cap. Null for no limit besides that. In millionths of `currency`. */
spend_cap_micros?: number | null
/** When the pay-as-you-go balance, with what is held, falls below this amount, the event `balance.low` occurs; again only after the balance was not below it. Null for no alert. In millionths of `currency`. */
balance_alert_micros?: number | null
/** When the spending of a calendar month (UTC) reaches one of these amounts, the event `spend.threshold` occurs, once per month and amount. In millionths of `currency`. */
spend_alerts?: (number)[]
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
export type UpdateOwnAccountParams = OwnAccountBody
export type AccountKeyBody = {
/** Name of the key. */
name?: string
/** Models that the key may use, by id or alias; null for all models. An id allows the model under every name, an alias under that name only. */
models?: (string)[] | null
/** IP addresses or CIDR ranges that may use the key; null for all addresses. */
addresses?: (string)[] | null
/** When the key expires; null if it does not expire. Unix time in seconds. */
expires_at?: number | null
/** Whether requests with the key are rejected. */
disabled?: boolean
/** Total amount that the key may spend from the time the quota is set; null for no limit. In millionths of `currency`. */
quota_micros?: number | null
/** Limit for all requests with the key together; null for no limit. */
requests_per_minute?: number | null
/** Rate limits by group of operations, in requests per minute. */
limits?: Limits
/** Tasks that the key may run at once; further tasks are queued. Null for the default. */
concurrency?: number | null
/** Dialect of the responses to this key. */
dialect?: "reference" | "openai"
/** What the key may do: `create` creates, changes and deletes media; `read` reads it; `account` manages keys and budgets of the account. */
scopes?: ("create" | "read" | "account")[]
/** Maximum amounts to spend per period. Unspent amounts do not carry over. */
budgets?: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Maximum amount to spend per period. In millionths of `currency`. */
limit_micros: number
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
})[]
/** ISO 4217 code of the amounts in this request. A code other than the instance's currency is rejected. */
currency?: string
}
/** Rate limits by group of operations, in requests per minute. */
export type Limits = {
/** Requests that create videos, characters or transcription tasks. */
create?: number
/** Requests that read or change existing resources. */
read?: number
/** Requests for speech, transcriptions and translations. */
audio?: number
/** Requests for chat completions. */
chat?: number
}
export type CreateAccountKeyParams = AccountKeyBody
/** The key. */
export type AccountKey = {
/** Id of the key. */
id: string
/** The type of this object: always `key`. */
object: "key"
/** Whether the key pays from the pay-as-you-go balance or from the subscription. */
kind: "payg" | "subscription"
/** Last characters of the secret, to tell keys apart. */
hint: string
/** What the key may do: `create` creates, changes and deletes media; `read` reads it; `account` manages keys and budgets of the account. */
scopes: ("create" | "read" | "account")[]
/** Name of the key. */
name: string
/** Models that the key may use, by id or alias; null for all models. An id allows the model under every name, an alias under that name only. */
models: (string)[] | null
/** IP addresses or CIDR ranges that may use the key; null for all addresses. */
addresses: (string)[] | null
/** When the key expires; null if it does not expire. Unix time in seconds. */
expires_at: number | null
/** Whether requests with the key are rejected. */
disabled: boolean
/** Total amount that the key may spend from the time the quota is set; null for no limit. In millionths of `currency`. */
quota_micros: number | null
/** Limit for all requests with the key together; null for no limit. */
requests_per_minute: number | null
/** Rate limits by group of operations, in requests per minute. */
limits: Limits
/** Tasks that the key may run at once; further tasks are queued. Null for the default. */
concurrency: number | null
/** Dialect of the responses to this key. */
dialect: "reference" | "openai"
/** Maximum amounts to spend per period. Unspent amounts do not carry over. */
budgets: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Maximum amount to spend per period. In millionths of `currency`. */
limit_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
})[]
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Used part of the quota; 0 for a key without a quota. In millionths of `currency`. */
used_micros: number
/** How much of each budget is used. */
budget_usage: ({
/** The period (UTC). */
period: "hour" | "day" | "week" | "month"
/** Used part of the budget in the current period, with what is held. In millionths of `currency`. */
used_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the next period starts. Unix time in seconds. */
resets_at: number
})[]
/** When the secret before the last rotation expires; null if it is not valid any more or never was. Unix time in seconds. */
previous_secret_expires_at: number | null
/** When the key was last used; null if it was never used. Unix time in seconds. */
last_used_at: number | null
/** When the key was created. Unix time in seconds. */
created_at: number
}
export type CreateAccountKeyResponse = {
/** The key. */
key: AccountKey
/** The secret of the key. It is returned only once; the service stores a hash of it. */
secret: string
}
export type ListAccountKeysParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
}
export type ListAccountKeysResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (AccountKey)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type UpdateAccountKeyParams = AccountKeyBody
export type RotateBody = {
/** How long the previous secret remains valid, in seconds. Secrets before it are refused at once. */
overlap_seconds?: number
}
export type RotateAccountKeyParams = RotateBody
export type DeleteAccountKeyResponse = {
/** Id of the deleted key. */
id: string
/** Always `true`. */
deleted: true
}
export type StatementMonth = {
/** The type of this object: always `statement_month`. */
object: "statement_month"
/** The calendar month in UTC, such as `2026-10`. */
month: string
/** `open`: the month has not ended, or ended less than an hour ago. `closed`: its figures no longer change. */
state: "open" | "closed"
/** Start of the month, inclusive. Unix time in seconds. */
from: number
/** End of the month, exclusive. Unix time in seconds. */
to: number
}
export type ListStatementsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (StatementMonth)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type GetStatementParams = {
/** With `csv`, the response is a table of comma-separated values with a header line. With `html`, it is a page for reading and printing. */
format?: "json" | "csv" | "html"
}
export type Statement = {
/** The type of this object: always `statement`. */
object: "statement"
/** The calendar month in UTC, such as `2026-10`. */
month: string
/** `open`: the month has not ended, or ended less than an hour ago. `closed`: its figures no longer change. */
state: "open" | "closed"
/** Start of the month, inclusive. Unix time in seconds. */
from: number
/** End of the month, exclusive. Unix time in seconds. */
to: number
/** Until when movements are included: the end of the month, or now in the current month. Unix time in seconds. */
as_of: number
/** Who issues the statement. */
issuer: {
/** Name of the operator; null if not configured. */
name: string | null
/** Lines of the address of the operator. */
address: (string)[]
/** Tax number of the operator; null if not configured. */
tax_number: string | null
}
/** The account. */
account: {
/** Id of the account. */
id: string
/** Name of the account. */
name: string
}
/** The wallets of the account. Nothing flows between them. */
wallets: (StatementWallet)[]
}
export type StatementWallet = {
/** The wallet: pay-as-you-go or subscription. */
wallet: "payg" | "subscription"
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** Balance at the start of the month, with held amounts. In millionths of `currency`. */
opening_balance_micros: number
/** Payments. */
top_ups: {
/** How many of these movements were made. */
count: number
/** Amount added. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Quotas of subscription cycles. */
grants: {
/** How many of these movements were made. */
count: number
/** Amount added. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Refunds, also of charges of earlier months. */
refunds: {
/** How many of these movements were made. */
count: number
/** Amount added. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Corrections by the operator. */
adjustments: {
/** How many of these movements were made. */
count: number
/** Amount added; negative if the adjustments lowered the balance. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Unspent rests of subscription cycles. */
expiries: {
/** How many of these movements were made. */
count: number
/** Amount removed, as a negative number. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** Charges of all models. */
charges: {
/** How many of these movements were made. */
count: number
/** Amount removed, as a negative number. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
/** The charges of each model, as positive amounts. They sum up to `charges`. */
charges_by_model: (StatementCharge)[]
/** Balance at the end of the month, with held amounts: the opening balance plus all movements above. In millionths of `currency`. */
closing_balance_micros: number
/** The part of the closing balance that was held for tasks and requests that had not ended. In millionths of `currency`. */
held_micros: number
}
export type StatementCharge = {
/** Id of the model; null if it is no longer known. */
model: string | null
/** Tasks and requests that were charged. */
count: number
/** What was charged, by unit of the price. */
quantities: ({
/** The unit of the price, such as `second`. */
unit: string
/** How many seconds, calls, images, characters or tokens were charged. Decimal text with at most three decimals. */
quantity: string
/** How many of them are in one unit, such as 60 seconds in a `minute`. */
unit_size: number
})[]
/** Amount charged. In millionths of `currency`. */
amount_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
}
export type ListEventsParams = {
/** Maximum number of events to return. */
limit?: number
/** Return the events that follow this cursor: the `next` of a page. */
after?: string
/** Newest first (`desc`), or in the order in which they were committed (`asc`). */
order?: "asc" | "desc"
/** Only events of this type. */
type?: "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
/** Whether to stream the events. `limit` and `order` have no effect then. */
stream?: boolean
}
export type ListEventsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The events on this page. */
data: (Event)[]
/** Whether more events follow this page now. */
has_more: boolean
/** Cursor of the last event on this page, or of the end of the feed if the feed is empty. Send it as `after`. It is never null: with `order=asc`, it leads to the events that happen later. */
next: string
}
export type WebhookEndpointBody = {
/** URL that receives the events: https, with the port 443 or 8443 and a public address. */
url: string
/** Types of the events that are sent. */
events: ("video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled")[]
/** Name of the endpoint. */
name?: string
/** `full`: `data` of an event of a task is the task, as a read shows it at the time of the attempt. `thin`: it has only the `id` of the task. So is `data` of `character.created`. Other events have the same `data` in both. */
payload?: "full" | "thin"
/** Maximum number of requests to the endpoint at once. */
concurrency?: number
}
export type CreateWebhookEndpointParams = WebhookEndpointBody
export type WebhookEndpointWithSecret = {
/** Id of the endpoint. */
id: string
/** The type of this object: always `webhook_endpoint`. */
object: "webhook_endpoint"
/** URL that receives the events: https, with the port 443 or 8443 and a public address. */
url: string
/** Name of the endpoint. */
name: string
/** Types of the events that are sent. */
events: ("video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled")[]
/** `full`: `data` of an event of a task is the task, as a read shows it at the time of the attempt. `thin`: it has only the `id` of the task. So is `data` of `character.created`. Other events have the same `data` in both. */
payload: "full" | "thin"
/** Maximum number of requests to the endpoint at once. */
concurrency: number
/** `enabled`: the last attempt succeeded, or there was none. `failing`: the last attempt failed. `disabled`: nothing is sent. */
state: "enabled" | "failing" | "disabled"
/** Why the endpoint is disabled: by a request, because it responded with 410, or because every attempt failed for days. Null if it is not disabled. */
disabled_reason: "customer" | "gone" | "failing" | null
/** Number of attempts that have failed in a row. */
failures: number
/** When the first of these attempts was made; null if the last one succeeded. Unix time in seconds. */
failing_since: number | null
/** Last characters of the secret, to tell secrets apart; null if the secret cannot be decrypted and must be rotated. */
secret_hint: string | null
/** Until when the secret before the last rotation also signs; null if it does not. Unix time in seconds. */
previous_secret_expires_at: number | null
/** When the endpoint was created. Unix time in seconds. */
created_at: number
/** The secret that signs the deliveries, as `whsec_<base64>`. It is returned only once; the service stores it encrypted. */
secret: string
}
export type ListWebhookEndpointsParams = {
/** Maximum number of items to return. */
limit?: number
/** Return the items that follow this id. Use the `last_id` of the previous page. */
after?: string
}
export type WebhookEndpoint = {
/** Id of the endpoint. */
id: string
/** The type of this object: always `webhook_endpoint`. */
object: "webhook_endpoint"
/** URL that receives the events: https, with the port 443 or 8443 and a public address. */
url: string
/** Name of the endpoint. */
name: string
/** Types of the events that are sent. */
events: ("video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled")[]
/** `full`: `data` of an event of a task is the task, as a read shows it at the time of the attempt. `thin`: it has only the `id` of the task. So is `data` of `character.created`. Other events have the same `data` in both. */
payload: "full" | "thin"
/** Maximum number of requests to the endpoint at once. */
concurrency: number
/** `enabled`: the last attempt succeeded, or there was none. `failing`: the last attempt failed. `disabled`: nothing is sent. */
state: "enabled" | "failing" | "disabled"
/** Why the endpoint is disabled: by a request, because it responded with 410, or because every attempt failed for days. Null if it is not disabled. */
disabled_reason: "customer" | "gone" | "failing" | null
/** Number of attempts that have failed in a row. */
failures: number
/** When the first of these attempts was made; null if the last one succeeded. Unix time in seconds. */
failing_since: number | null
/** Last characters of the secret, to tell secrets apart; null if the secret cannot be decrypted and must be rotated. */
secret_hint: string | null
/** Until when the secret before the last rotation also signs; null if it does not. Unix time in seconds. */
previous_secret_expires_at: number | null
/** When the endpoint was created. Unix time in seconds. */
created_at: number
}
export type ListWebhookEndpointsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The endpoints on this page. */
data: (WebhookEndpoint)[]
/** Id of the last item on this page; null if the page is empty. */
last_id: string | null
/** Whether more items follow this page. */
has_more: boolean
/** Id of the first item on this page; null if the page is empty. */
first_id: string | null
}
export type WebhookEndpointChange = {
/** URL that receives the events: https, with the port 443 or 8443 and a public address. */
url?: string
/** Types of the events that are sent. */
events?: ("video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled")[]
/** Name of the endpoint. */
name?: string
/** `full`: `data` of an event of a task is the task, as a read shows it at the time of the attempt. `thin`: it has only the `id` of the task. So is `data` of `character.created`. Other events have the same `data` in both. */
payload?: "full" | "thin"
/** Maximum number of requests to the endpoint at once. */
concurrency?: number
/** With `true`, nothing more is sent, and what is pending fails. With `false`, the endpoint is enabled and counts as working again. */
disabled?: boolean
}
export type UpdateWebhookEndpointParams = WebhookEndpointChange
export type DeletedWebhookEndpoint = {
/** Id of the endpoint. */
id: string
/** The type of this object: always `webhook_endpoint.deleted`. */
object: "webhook_endpoint.deleted"
/** Always `true`. */
deleted: true
}
export type RotateSecretBody = {
/** How long deliveries are also signed with the previous secret, in seconds. Secrets before it are no longer used. */
overlap_seconds?: number
}
export type RotateWebhookEndpointSecretParams = RotateSecretBody
export type TestBody = {
/** Type of an event. */
type?: "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
}
export type TestWebhookEndpointParams = TestBody
export type WebhookDelivery = {
/** Id of the delivery. */
id: string
/** The type of this object: always `webhook_delivery`. */
object: "webhook_delivery"
/** Id of the endpoint; null if the create of the task named the URL. */
endpoint_id: string | null
/** URL that receives the event; null if the endpoint was deleted. */
url: string | null
/** Id of the event, the header `webhook-id`. It is the same in every attempt. */
event_id: string
/** Type of an event. */
type: "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
/** Id of the task or other object that the event is about. */
object_id: string
/** `pending`: an attempt will follow. `delivered`: the endpoint responded with 2xx. `failed`: no further attempt is made. `replaced`: newer progress of the task was sent instead. */
state: "pending" | "delivered" | "failed" | "replaced"
/** Number of attempts so far. */
attempt_count: number
/** When the next attempt is due; null if none follows. It is later while the endpoint is failing. Unix time in seconds. */
next_attempt_at: number | null
/** When the event occurred. Unix time in seconds. */
created_at: number
/** When the delivery succeeded or was given up; null while it is pending. Unix time in seconds. */
ended_at: number | null
}
export type RedeliverBody = {
/** Deliver again what has failed since this time. Unix time in seconds. */
since: number
}
export type RedeliverWebhookEndpointParams = RedeliverBody
export type RedeliverWebhookEndpointResponse = {
/** The type of this object: always `webhook_endpoint.redelivery`. */
object: "webhook_endpoint.redelivery"
/** Number of deliveries that are pending again. */
count: number
/** Whether more may have failed since then. Send the request again. */
has_more: boolean
}
export type ListWebhookEventTypesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The types of events. */
data: ("video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled")[]
}
/** Type of an event. */
export type ListWebhookEventTypesItem = "video.processing" | "video.progress" | "video.completed" | "video.failed" | "transcription_task.processing" | "transcription_task.completed" | "transcription_task.failed" | "character.created" | "character.deleted" | "balance.low" | "spend.threshold" | "key.expiring" | "model.deprecated" | "webhook_endpoint.disabled"
export type GetWebhookKeysResponse = {
/** The public keys; any of them may verify. */
keys: ({
/** Id of the key. */
id: string
/** Always `ed25519`. */
algorithm: "ed25519"
/** The public key as `whpk_<base64>`. */
public_key: string
})[]
}
export type ListWebhookDeliveriesParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
/** Only deliveries to this endpoint. */
endpoint_id?: string
/** `pending`: an attempt will follow. `delivered`: the endpoint responded with 2xx. `failed`: no further attempt is made. `replaced`: newer progress of the task was sent instead. */
state?: "pending" | "delivered" | "failed" | "replaced"
/** Type of an event. */
type?: ListWebhookEventTypesItem
/** Only deliveries of events of this object. */
object_id?: string
}
export type ListWebhookDeliveriesResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (WebhookDelivery)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}
export type WebhookDeliveryWithAttempts = {
/** Id of the delivery. */
id: string
/** The type of this object: always `webhook_delivery`. */
object: "webhook_delivery"
/** Id of the endpoint; null if the create of the task named the URL. */
endpoint_id: string | null
/** URL that receives the event; null if the endpoint was deleted. */
url: string | null
/** Id of the event, the header `webhook-id`. It is the same in every attempt. */
event_id: string
/** Type of an event. */
type: ListWebhookEventTypesItem
/** Id of the task or other object that the event is about. */
object_id: string
/** `pending`: an attempt will follow. `delivered`: the endpoint responded with 2xx. `failed`: no further attempt is made. `replaced`: newer progress of the task was sent instead. */
state: "pending" | "delivered" | "failed" | "replaced"
/** Number of attempts so far. */
attempt_count: number
/** When the next attempt is due; null if none follows. It is later while the endpoint is failing. Unix time in seconds. */
next_attempt_at: number | null
/** When the event occurred. Unix time in seconds. */
created_at: number
/** When the delivery succeeded or was given up; null while it is pending. Unix time in seconds. */
ended_at: number | null
/** The latest 100 attempts, oldest first. */
attempts: ({
/** Number of the attempt, from 1. */
attempt: number
/** When the attempt began. Unix time in seconds. */
started_at: number
/** Duration of the attempt in milliseconds. */
duration_ms: number
/** Status of the response; null if there was none. */
status: number | null
/** Why there was no response; null if there was one. */
error: string | null
/** The first 1,024 bytes of the response. */
response: string | null
})[]
}
export type Model = {
/** The name for the parameter `model`: the id of the model, or an alias. */
id: string
/** The type of this object: always `model`. */
object: "model"
/** When the model was released. Unix time in seconds. */
created: number
/** The organization that owns the model. */
owned_by: string
/** What the model does. */
kind: "video" | "speech" | "transcription" | "chat"
/** One sentence about the model. */
description?: string
/** Id of the model that this is another name of. Only for an alias. */
alias_of?: string
/** Other names that requests may use. */
aliases: (string)[]
/** Paths of the endpoints that accept this model. */
endpoints: (string)[]
/** The values of `seconds` at `POST /v1/videos`. */
seconds?: {
/** The allowed values; null if all from `min` to `max` are. */
values: (number)[] | null
/** The shortest duration. */
min: number
/** The longest duration. */
max: number
}
/** The durations at `POST /v1/video/create` in seconds. The first one is the default. */
durations?: (number)[]
/** The values of `size` at `POST /v1/videos`. */
sizes?: ({
/** The name of the size. */
size: string
/** Width of the video in pixels. */
width: number
/** Height of the video in pixels. */
height: number
})[]
/** The sizes at `POST /v1/video/create`. `size` (`large`: 1080 pixels or more on the shorter side) and `orientation`, or `enable_upsample` and `aspect_ratio`, choose one of them. */
frames?: ({
/** The name of the size. */
size: string
/** Width of the video in pixels. */
width: number
/** Height of the video in pixels. */
height: number
})[]
/** The values of `aspect_ratio` at `POST /v1/video/create`. */
aspect_ratios?: (string)[]
/** The reference images that a request may have. */
images?: {
/** The largest number of reference images. */
max: number
/** How the images are used: shown first or last, as things that the video shows (`reference`), or for the style. The first image has the first role, and so on. With several roles, `image_roles` at `POST /v1/video/create` may choose. */
roles: ("first_frame" | "last_frame" | "reference" | "style")[]
}
/** Whether a request may have a `reference_video`. */
reference_video?: boolean
/** Whether a request may have a `reference_audio`. */
reference_audio?: boolean
/** Whether the videos have sound; `optional` if the parameter `sound` of the request decides. */
sound?: "always" | "never" | "optional"
/** Names of the voices. Only for models that speak. */
voices?: (string)[]
/** The prices of the model. Of several for the same that apply to a request, the one with the most conditions does; a price per image is added. */
prices: ({
/** The unit of the price, such as `second`. */
unit: string
/** Price of one unit. In millionths of `currency`. */
unit_micros: number
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** The price is only for videos of this width and height, such as `1280x720`, or of this number of lines, such as `720p`; null for all. */
resolution: string | null
/** The price is only for videos with or without sound; null for both. */
sound: boolean | null
/** The price is only for videos made from `text` alone, with an `image`, or from a `video`; null for all. */
input: string | null
})[]
/** The engine behind the model, if its provider reports one. */
engine?: ModelEngine
/** Whether the model will be shut down (`deprecated`). */
state: "active" | "deprecated"
/** The date on which a deprecated model stops working. */
shutdown_date?: string
/** The model to use instead of a deprecated one. */
successor?: string
}
/** The engine behind the model, if its provider reports one. */
export type ModelEngine = {
/** The engine that currently serves the model. */
name: string
/** The best engine for this model. */
wanted: string
/** The quality of the current engine, and of the one for other languages, timestamps and translation if that is another. */
quality: string
/** The command that installs the best engine, if it is missing. */
pull?: string
}
export type ListModelsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The models. */
data: (Model)[]
}
export type GetMediaParams = {
/** Unix time in seconds at which the link expires. */
expires: string
/** Id of the secret that signed the link. */
key: string
/** Signature of the link. */
signature: string
}
export type Service = {
/** The type of this object: always `service`. */
object: "service"
/** The name of the software. */
name: string
/** Its version. */
version: string
/** The state of the whole service, as in `/status`. */
state: "operational" | "degraded" | "down"
/** The base URL of this API. */
base_url: string
/** The base URL for the `openai` libraries. */
openai_base_url: string
/** The API reference. */
docs_url: string
/** The OpenAPI document. */
openapi_url: string
/** An overview for language models. */
llms_url: string
/** The error codes. */
errors_url: string
/** The status of the service. */
status_url: string
/** The web console; null if this instance serves none. */
console_url: string | null
}
export type ServiceStatus = {
/** The type of this object: always `status`. */
object: "status"
/** The whole service: `down` if every kind is down, `degraded` if any kind is not operational, else `operational`. */
state: "operational" | "degraded" | "down"
/** When the states were determined. Unix time in seconds. */
updated_at: number
/** The kinds of models that this instance offers. */
kinds: ({
/** Kind of model. */
kind: "video" | "transcription" | "speech" | "chat"
/** `operational`: requests succeed. `degraded`: some models cannot be used, or a part of the tasks fails. `down`: no model of the kind can be used, or no task progresses. */
state: "operational" | "degraded" | "down"
/** Since when it has this state. Unix time in seconds. */
since: number
/** The last 90 days on which the kind was observed, oldest first. */
days: ({
/** The day, in UTC. */
date: string
/** How long the kind was observed on this day. The state of the rest is unknown. */
observed_seconds: number
/** How long it was degraded. */
degraded_seconds: number
/** How long it was down. */
down_seconds: number
})[]
})[]
}
export type WebhookSecret = {
/** The type of this object: always `webhook_secret`. */
object: "webhook_secret"
/** The secret, as libraries for Standard Webhooks take it: `whsec_` and base64. */
secret: string
/** Until when deliveries are also signed with the secret before the last rotation; null if they are not. Unix time in seconds. */
previous_secret_expires_at: number | null
}
export type RotateWebhookSecretParams = RotateSecretBody
export type ConsoleSessionBody = {
/** The secrets of a customer's key, of an operator's key, or of one of each. */
keys?: (string)[]
/** The token of a sign-in link: what follows `#link=` in its URL. Instead of `keys`. */
link?: string
}
export type CreateConsoleSessionParams = ConsoleSessionBody
export type ConsoleSession = {
/** Id of the session. */
id: string
/** The type of this object: always `console.session`. */
object: "console.session"
/** The account of the customer's key; null without such a key. */
account: {
/** Id of the account. */
id: string
/** Name of the account. */
name: string
} | null
/** The customer's key that the session stands for; null if there is none. */
key: {
/** Id of the key. */
id: string
/** Last characters of the secret, to tell keys apart. */
hint: string
/** Name of the key. */
name: string
/** Whether the key pays from the pay-as-you-go balance or from the subscription. */
kind: "payg" | "subscription"
/** What the key may do: `create`, `read`, `account`. */
scopes: ("create" | "read" | "account")[]
} | null
/** The operator key that the session stands for; null if there is none. */
operator: {
/** Id of the operator key. */
id: string
/** Name of the operator key. */
name: string
/** Role of the operator key. */
role: "read" | "support" | "finance" | "admin"
} | null
/** ISO 4217 code of every amount in this object. An instance has one currency. */
currency: string
/** When the session ends if it stays unused. Unix time in seconds. */
expires_at: number
}
export type ConsoleLinkBody = {
/** The secrets of a customer's key, of an operator's key, or of one of each. */
keys: (string)[]
}
export type CreateConsoleLinkParams = ConsoleLinkBody
export type ConsoleLink = {
/** The type of this object: always `console.link`. */
object: "console.link"
/** The page that signs in with the link. The token is in the fragment, so no server logs it. */
url: string
/** When the link expires. Unix time in seconds. */
expires_at: number
}
export type ConsoleLinkToken = {
/** The token of a sign-in link: what follows `#link=` in its URL. */
link: string
}
export type CheckConsoleLinkParams = ConsoleLinkToken
export type ConsoleLinkHolder = {
/** The type of this object: always `console.link_holder`. */
object: "console.link_holder"
/** The account of the customer's key; null without such a key. */
account: {
/** Id of the account. */
id: string
/** Name of the account. */
name: string
} | null
/** The customer's key that the link signs in with; null if there is none. */
key: {
/** Id of the key. */
id: string
/** Last characters of the secret, to tell keys apart. */
hint: string
/** Name of the key. */
name: string
} | null
/** The operator key that the link signs in with; null if there is none. */
operator: {
/** Id of the operator key. */
id: string
/** Name of the operator key. */
name: string
/** Role of the operator key. */
role: "read" | "support" | "finance" | "admin"
} | null
/** When the link expires. Unix time in seconds. */
expires_at: number
}
export type DeleteConsoleSessionResponse = {
/** Id of the deleted session. */
id: string
/** Always `true`. */
deleted: true
}
export type ListConsoleSessionsParams = {
/** Maximum number of items to return. */
limit?: number
/** Cursor of the page: the `next` of the previous page. */
cursor?: string
}
/** The session. */
export type ConsoleSessionItem = {
/** Id of the session. */
id: string
/** The type of this object: always `console.session`. */
object: "console.session"
/** Whether this is the session of the request. */
current: boolean
/** The account of the customer's key; null without such a key. */
account: {
/** Id of the account. */
id: string
/** Name of the account. */
name: string
} | null
/** The customer's key of the session; null if there is none. */
key: {
/** Id of the key. */
id: string
/** Last characters of the secret, to tell keys apart. */
hint: string
/** Name of the key. */
name: string
} | null
/** The operator key of the session; null if there is none. */
operator: {
/** Id of the operator key. */
id: string
/** Name of the operator key. */
name: string
} | null
/** IP address that signed in. */
address: string
/** The `User-Agent` of the browser; null if it sent none. */
user_agent: string | null
/** When the session began. Unix time in seconds. */
created_at: number
/** When the session was last used, to the minute. Unix time in seconds. */
last_used_at: number
/** When the session ends if it stays unused. Unix time in seconds. */
expires_at: number
}
export type ListConsoleSessionsResponse = {
/** The type of this object: always `list`. */
object: "list"
/** The items on this page. */
data: (ConsoleSessionItem)[]
/** Cursor of the next page: send it as `cursor`. Null on the last page. */
next: string | null
}

export interface Methods {
videos: {
/** Create a video: `POST /v1/videos`. */
create(params: CreateVideoParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CreateVideoParams & { dry_run?: false }, options?: RequestOptions): Promise<Video>
/** Get a video: `GET /v1/videos/{id}`. */
get(id: string, params?: GetVideoParams, options?: RequestOptions): Promise<Video>
/** List videos: `GET /v1/videos`. */
list(params?: ListVideosParams, options?: RequestOptions): List<ListVideosResponse, ListVideosItem>
/** Delete a video: `DELETE /v1/videos/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeleteVideoResponse>
/** Cancel a video: `POST /v1/videos/{id}/cancel`. */
cancel(id: string, options?: RequestOptions): Promise<Video>
/** Download a video: `GET /v1/videos/{id}/content`. */
content(id: string, params?: GetVideoContentParams, options?: RequestOptions): Promise<MediaFile>
/** Stream the events of a video: `GET /v1/videos/{id}/events`. */
events(id: string, params?: FollowVideoParams, options?: RequestOptions): EventStream<VideoEvent>
/** Get the timeline of a video: `GET /v1/videos/{id}/timeline`. */
timeline(id: string, options?: RequestOptions): Promise<GetVideoTimelineResponse>
/** Remix a video: `POST /v1/videos/{id}/remix`. */
remix(id: string, params: RemixVideoParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
remix(id: string, params: RemixVideoParams & { dry_run?: false }, options?: RequestOptions): Promise<Video>
/** Edit a video: `POST /v1/videos/edits`. */
edit(params: EditVideoParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
edit(params: EditVideoParams & { dry_run?: false }, options?: RequestOptions): Promise<Video>
}
videoTasks: {
/** Create a video task: `POST /v1/video/create`. */
create(params: CreateVideoTaskParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CreateVideoTaskParams & { dry_run?: false }, options?: RequestOptions): Promise<CreatedVideoTask>
/** Query a video task: `GET /v1/video/query`. */
query(params?: QueryVideoTaskParams, options?: RequestOptions): Promise<VideoTaskView>
}
characters: {
/** Create a character: `POST /vidB/v1/characters`. */
create(params: CreateCharacterParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params?: CreateCharacterParams & { dry_run?: false }, options?: RequestOptions): Promise<Character>
/** List characters: `GET /vidB/v1/characters`. */
list(params?: ListCharactersParams, options?: RequestOptions): List<ListCharactersResponse, Character>
/** Get a character: `GET /vidB/v1/characters/{id}`. */
get(id: string, options?: RequestOptions): Promise<Character>
/** Rename a character: `PATCH /vidB/v1/characters/{id}`. */
rename(id: string, params: RenameCharacterParams, options?: RequestOptions): Promise<Character>
/** Delete a character: `DELETE /vidB/v1/characters/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeleteCharacterResponse>
/** Show the page of a character: `GET /characters/{username}`. */
show(username: string, params?: ShowCharacterParams, options?: RequestOptions): Promise<string>
}
chat: {
completions: {
/** Create a chat completion: `POST /v1/chat/completions`. */
create(params: CompleteChatParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CompleteChatParams & { stream: true }, options?: RequestOptions): EventStream<ChatChunk>
create(params: CompleteChatParams & { dry_run?: false }, options?: RequestOptions): Promise<ChatCompletion>
}
}
voices: {
/** List voices: `GET /v1/audio/voices`. */
list(options?: RequestOptions): List<ListVoicesResponse, ListVoicesItem>
/** Listen to a voice by its signed link: `GET /v1/audio/voices/{model}/{voice}/sample.mp3`. */
sample(model: string, voice: string, params: GetVoiceSampleParams, options?: RequestOptions): Promise<MediaFile>
}
transcriptions: {
/** Transcribe a recording: `POST /v1/audio/transcriptions`. */
create(params: CreateTranscriptionParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CreateTranscriptionParams & { stream: true }, options?: RequestOptions): EventStream<CreateTranscriptionEvent>
create(params: CreateTranscriptionParams & { response_format: "text" | "srt" | "vtt" }, options?: RequestOptions): Promise<string>
create(params: CreateTranscriptionParams & { dry_run?: false }, options?: RequestOptions): Promise<Transcription>
}
translations: {
/** Translate a recording into English: `POST /v1/audio/translations`. */
create(params: CreateTranslationParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CreateTranslationParams & { response_format: "text" | "srt" | "vtt" }, options?: RequestOptions): Promise<string>
create(params: CreateTranslationParams & { dry_run?: false }, options?: RequestOptions): Promise<Transcription>
}
speech: {
/** Generate speech from text: `POST /v1/audio/speech`. */
create(params: CreateSpeechParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CreateSpeechParams & { stream_format: 'sse' }, options?: RequestOptions): EventStream<CreateSpeechEvent>
create(params: CreateSpeechParams & { dry_run?: false }, options?: RequestOptions): Promise<MediaFile>
}
transcriptionTasks: {
/** Create a transcription task: `POST /v1/audio/transcription-tasks`. */
create(params: CreateTranscriptionTaskParams & { dry_run: true }, options?: RequestOptions): Promise<Quote>
create(params: CreateTranscriptionTaskParams & { dry_run?: false }, options?: RequestOptions): Promise<TranscriptionTask>
/** List transcription tasks: `GET /v1/audio/transcription-tasks`. */
list(params?: ListTranscriptionTasksParams, options?: RequestOptions): List<ListTranscriptionTasksResponse, TranscriptionTask>
/** Get a transcription task: `GET /v1/audio/transcription-tasks/{id}`. */
get(id: string, options?: RequestOptions): Promise<TranscriptionTask>
/** Get the transcript of a task: `GET /v1/audio/transcription-tasks/{id}/transcript`. */
transcript(id: string, params: GetTranscriptParams & { response_format: "text" | "srt" | "vtt" }, options?: RequestOptions): Promise<string>
transcript(id: string, params?: GetTranscriptParams, options?: RequestOptions): Promise<Transcription>
/** Delete a transcription task: `DELETE /v1/audio/transcription-tasks/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeleteTranscriptionTaskResponse>
}
me: {
/** Get the current key and its account: `GET /v1/me`. */
get(options?: RequestOptions): Promise<Me>
}
usage: {
/** Get usage and cost: `GET /v1/usage`. */
get(params: GetUsageParams & { format: "csv" }, options?: RequestOptions): Promise<string>
get(params?: GetUsageParams, options?: RequestOptions): List<GetUsageResponse, UsageRow>
}
receipts: {
/** Get the receipt of a task or request: `GET /v1/receipts/{id}`. */
get(id: string, options?: RequestOptions): Promise<Receipt>
}
account: {
/** Get the account: `GET /v1/account`. */
get(options?: RequestOptions): Promise<OwnAccount>
/** Update the budget and the alerts of the account: `PATCH /v1/account`. */
update(params?: UpdateOwnAccountParams, options?: RequestOptions): Promise<OwnAccount>
}
keys: {
/** Create a key: `POST /v1/keys`. */
create(params?: CreateAccountKeyParams, options?: RequestOptions): Promise<CreateAccountKeyResponse>
/** List keys: `GET /v1/keys`. */
list(params?: ListAccountKeysParams, options?: RequestOptions): List<ListAccountKeysResponse, AccountKey>
/** Get a key: `GET /v1/keys/{id}`. */
get(id: string, options?: RequestOptions): Promise<AccountKey>
/** Update a key: `PATCH /v1/keys/{id}`. */
update(id: string, params?: UpdateAccountKeyParams, options?: RequestOptions): Promise<AccountKey>
/** Rotate a key: `POST /v1/keys/{id}/rotate`. */
rotate(id: string, params?: RotateAccountKeyParams, options?: RequestOptions): Promise<CreateAccountKeyResponse>
/** Delete a key: `DELETE /v1/keys/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeleteAccountKeyResponse>
}
statements: {
/** List statements: `GET /v1/statements`. */
list(options?: RequestOptions): List<ListStatementsResponse, StatementMonth>
/** Get the statement of a month: `GET /v1/statements/{month}`. */
get(month: string, params: GetStatementParams & { format: "csv" | "html" }, options?: RequestOptions): Promise<string>
get(month: string, params?: GetStatementParams, options?: RequestOptions): Promise<Statement>
}
events: {
/** List or follow events: `GET /v1/events`. */
list(params: ListEventsParams & { stream: true }, options?: RequestOptions): EventStream<Event>
list(params?: ListEventsParams, options?: RequestOptions): List<ListEventsResponse, Event>
}
webhooks: {
/** Create a webhook endpoint: `POST /v1/webhook_endpoints`. */
create(params: CreateWebhookEndpointParams, options?: RequestOptions): Promise<WebhookEndpointWithSecret>
/** List webhook endpoints: `GET /v1/webhook_endpoints`. */
list(params?: ListWebhookEndpointsParams, options?: RequestOptions): List<ListWebhookEndpointsResponse, WebhookEndpoint>
/** Get a webhook endpoint: `GET /v1/webhook_endpoints/{id}`. */
get(id: string, options?: RequestOptions): Promise<WebhookEndpoint>
/** Update a webhook endpoint: `PATCH /v1/webhook_endpoints/{id}`. */
update(id: string, params?: UpdateWebhookEndpointParams, options?: RequestOptions): Promise<WebhookEndpoint>
/** Delete a webhook endpoint: `DELETE /v1/webhook_endpoints/{id}`. */
delete(id: string, options?: RequestOptions): Promise<DeletedWebhookEndpoint>
/** Rotate the secret of a webhook endpoint: `POST /v1/webhook_endpoints/{id}/rotate_secret`. */
rotateSecret(id: string, params?: RotateWebhookEndpointSecretParams, options?: RequestOptions): Promise<WebhookEndpointWithSecret>
/** Send a test event to a webhook endpoint: `POST /v1/webhook_endpoints/{id}/test`. */
test(id: string, params?: TestWebhookEndpointParams, options?: RequestOptions): Promise<WebhookDelivery>
/** Deliver again what has failed: `POST /v1/webhook_endpoints/{id}/redeliver`. */
redeliver(id: string, params: RedeliverWebhookEndpointParams, options?: RequestOptions): Promise<RedeliverWebhookEndpointResponse>
/** List the types of events: `GET /v1/webhook_event_types`. */
eventTypes(options?: RequestOptions): List<ListWebhookEventTypesResponse, ListWebhookEventTypesItem>
/** Get the public keys that verify webhooks: `GET /.well-known/webhook-keys.json`. */
publicKeys(options?: RequestOptions): Promise<GetWebhookKeysResponse>
deliveries: {
/** List webhook deliveries: `GET /v1/webhook_deliveries`. */
list(params?: ListWebhookDeliveriesParams, options?: RequestOptions): List<ListWebhookDeliveriesResponse, WebhookDelivery>
/** Get a webhook delivery: `GET /v1/webhook_deliveries/{id}`. */
get(id: string, options?: RequestOptions): Promise<WebhookDeliveryWithAttempts>
/** Deliver an event again: `POST /v1/webhook_deliveries/{id}/redeliver`. */
redeliver(id: string, options?: RequestOptions): Promise<WebhookDelivery>
}
secret: {
/** Get the webhook secret: `GET /v1/webhook_secret`. */
get(options?: RequestOptions): Promise<WebhookSecret>
/** Rotate the webhook secret: `POST /v1/webhook_secret/rotate`. */
rotate(params?: RotateWebhookSecretParams, options?: RequestOptions): Promise<WebhookSecret>
}
}
models: {
/** List models: `GET /v1/models`. */
list(options?: RequestOptions): List<ListModelsResponse, Model>
/** Get a model: `GET /v1/models/{id}`. */
get(id: string, options?: RequestOptions): Promise<Model>
}
media: {
/** Download a file by its signed link: `GET /media/{id}/{name}`. */
get(id: string, name: string, params: GetMediaParams, options?: RequestOptions): Promise<MediaFile>
}
service: {
/** Show where to begin: `GET /`. */
get(options?: RequestOptions): Promise<Service>
}
docs: {
/** Show the API reference: `GET /docs`. */
reference(options?: RequestOptions): Promise<Record<string, unknown>>
/** Get an overview for language models: `GET /llms.txt`. */
llms(options?: RequestOptions): Promise<string>
/** Get all documents for language models: `GET /llms-full.txt`. */
llmsFull(options?: RequestOptions): Promise<string>
/** Show the error codes: `GET /docs/errors`. */
errors(options?: RequestOptions): Promise<string>
/** Get the OpenAPI document: `GET /openapi.json`. */
openapi(options?: RequestOptions): Promise<Record<string, unknown>>
}
status: {
/** Get the status of the service: `GET /status`. */
get(options?: RequestOptions): Promise<ServiceStatus>
}
console: {
sessions: {
/** Sign in to the console: `POST /console/v1/sessions`. */
create(params?: CreateConsoleSessionParams, options?: RequestOptions): Promise<ConsoleSession>
/** List sessions of the console: `GET /console/v1/sessions`. */
list(params?: ListConsoleSessionsParams, options?: RequestOptions): List<ListConsoleSessionsResponse, ConsoleSessionItem>
/** Revoke a session of the console: `DELETE /console/v1/sessions/{id}`. */
revoke(id: string, options?: RequestOptions): Promise<DeleteConsoleSessionResponse>
}
links: {
/** Create a sign-in link: `POST /console/v1/links`. */
create(params: CreateConsoleLinkParams, options?: RequestOptions): Promise<ConsoleLink>
/** Check a sign-in link: `POST /console/v1/links/check`. */
check(params: CheckConsoleLinkParams, options?: RequestOptions): Promise<ConsoleLinkHolder>
}
session: {
/** Get the session of the console: `GET /console/v1/session`. */
get(options?: RequestOptions): Promise<ConsoleSession>
/** Sign out of the console: `DELETE /console/v1/session`. */
delete(options?: RequestOptions): Promise<DeleteConsoleSessionResponse>
}
}
}
