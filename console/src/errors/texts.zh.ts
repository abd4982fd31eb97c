import type { ErrorCode } from '@kinora/contract/errors'
import type { TaskCause } from '@kinora/contract/operations/admin/task-explanations'
import type { TaskErrorCode } from '@kinora/contract/task-errors'

import type { CodeText, texts as english } from './texts.en.ts'

const errors: Record<ErrorCode, CodeText> = {
  missing_api_key: { message: '缺少 API 密钥。', hint: '请重新登录。' },
  invalid_api_key: { message: 'API 密钥无效。', hint: '请检查密钥是否输入正确；若已删除，请创建新密钥。' },
  expired_api_key: { message: 'API 密钥已过期。', hint: '请使用其他密钥，或请运营人员延长有效期。' },
  missing_session: { message: '没有有效的会话：尚未登录，或会话已结束。', hint: '请重新登录控制台。' },
  invalid_signature: {
    message: 'Webhook 签名无效。',
    hint: '请用公布的密钥为原始内容签名，并在五分钟内送达。',
  },
  quota_exceeded: { message: '额度已用完。', hint: '请提高密钥额度，或等待订阅的下一周期。' },
  insufficient_balance: { message: '账户余额不足以支付此请求。', hint: '请充值后重试。' },
  subscription_expired: { message: '订阅已结束。', hint: '请续订，或使用按量付费密钥。' },
  payment_failed: { message: '上次付款失败，余额不足以支付此请求。', hint: '请更新付款方式后充值。' },
  access_denied: { message: '此密钥无权执行该操作。', hint: '请使用已启用且具有相应角色的密钥。' },
  insufficient_scope: {
    message: '密钥缺少此操作所需的权限范围。',
    hint: '请使用具有该权限范围的密钥，或为此密钥添加。',
  },
  model_access_denied: { message: '此密钥不能使用该模型。', hint: '请选择此密钥可用的模型。' },
  ip_not_allowed: {
    message: '当前 IP 地址不在密钥的允许列表中。',
    hint: '请从允许的地址访问，或将此地址加入允许列表。',
  },
  account_suspended: { message: '账户已被暂停。', hint: '请联系本服务的运营人员。' },
  audio_requires_payg: { message: '音频需要按量付费密钥，而当前是订阅密钥。', hint: '请使用按量付费密钥。' },
  model_not_found: { message: '没有此模型。', hint: '请选择列表中的模型。' },
  endpoint_not_found: { message: '没有此接口。', hint: '请检查路径。' },
  host_not_allowed: {
    message: '服务器不接受此主机名的请求。',
    hint: '请使用服务器自己的地址，或将主机名加入 ALLOWED_HOSTS。',
  },
  task_not_found: { message: '没有此任务。', hint: '请检查 ID，并使用创建该任务的账户的密钥。' },
  character_not_found: { message: '没有此角色。', hint: '请从角色列表中选择。' },
  resource_not_found: { message: '没有此资源。', hint: '请检查 ID；它可能已被删除。' },
  variant_not_available: {
    message: '该视频没有此版本。',
    hint: '请使用视频本身。并非每个文件都能生成缩略图。',
  },
  media_not_found: {
    message: '此链接没有对应的文件：链接被更改、截断或从未有效。',
    hint: '请重新打开任务以获取新链接。',
  },
  method_not_allowed: { message: '此接口不支持该方法。', hint: '请使用 Allow 头中的方法。' },
  link_expired: { message: '链接已失效：已使用、已过期或不完整。', hint: '请获取新链接。' },
  media_expired: { message: '文件已在保留期结束时删除。', hint: '请重新生成，并在保留期内下载。' },
  invalid_request: { message: '请求格式不正确。', hint: '请检查请求内容及其 Content-Type。' },
  invalid_parameter: { message: '有参数的值无效。', hint: '请更正下方所指的参数。' },
  missing_parameter: { message: '缺少必需的参数。', hint: '请补充下方所指的参数。' },
  task_not_completed: { message: '任务尚未完成。', hint: '请等任务完成后重试。' },
  task_failed: { message: '任务已失败，没有结果。', hint: '请查看失败原因，然后新建任务。' },
  context_length_exceeded: {
    message: '消息超出了此模型的上下文长度。',
    hint: '请缩短消息，或使用上下文更长的模型。',
  },
  output_length_exceeded: { message: '输出会超出此模型的最大长度。', hint: '请缩短输入，或分成多个请求。' },
  invalid_image: { message: '图片无效。', hint: '请使用大小合规且完整的 PNG、JPEG、WebP 或 GIF。' },
  voice_not_supported: { message: '此模型没有该音色。', hint: '请选择此模型的音色。' },
  invalid_file_format: {
    message: '不支持此音频格式。',
    hint: '请使用 flac、mp3、mp4、mpeg、mpga、m4a、ogg、wav 或 webm。',
  },
  content_policy_violation: {
    message: '供应商因内容政策拒绝了此请求。',
    hint: '请修改提示词或图片，使其符合内容政策。',
  },
  task_not_failed: { message: '只能重试失败的任务。', hint: '请查看任务状态。' },
  idempotency_key_reused: { message: '此幂等键已用于另一个请求。', hint: '每个请求请使用新的幂等键。' },
  request_in_progress: {
    message: '使用此幂等键的首个请求仍在处理。',
    hint: '请稍后重试，以获取首个请求的响应。',
  },
  conflict: { message: '请求与资源的当前状态冲突。', hint: '请刷新后重新修改并提交。' },
  file_too_large: { message: '文件过大。', hint: '请使用更小的文件，或创建可接受更大文件的转写任务。' },
  request_too_large: { message: '请求内容过大。', hint: '请减小请求；较大的图片请以文件上传。' },
  range_not_satisfiable: { message: '请求的范围超出文件大小。', hint: '请使用文件大小以内的范围。' },
  rate_limit_exceeded: { message: '请求过于频繁。', hint: '请稍候再试。' },
  internal_error: {
    message: '服务内部出错，未收取费用。',
    hint: '请重试；若持续失败，请将请求 ID 告知运营人员。',
  },
  upstream_error: { message: '此模型的供应商出错，未收取费用。', hint: '请重试。' },
  service_unavailable: { message: '服务暂时不可用。', hint: '请稍候再试。' },
  model_overloaded: { message: '此模型当前过载。', hint: '请稍候再试，或使用其他模型。' },
}

const tasks: Record<TaskErrorCode, CodeText> = {
  content_policy_violation: {
    message: '供应商因内容拒绝了提示词或图片。',
    hint: errors.content_policy_violation.hint,
  },
  invalid_image: { message: '参考图片无效。', hint: errors.invalid_image.hint },
  invalid_parameter: { message: '供应商拒绝了请求中的某个参数。', hint: '请更正该参数后重新提交。' },
  upstream_error: { message: '供应商未能生成结果。', hint: '请重新提交；若再次失败，请使用其他模型。' },
  task_timeout: { message: '任务未在期限内完成。', hint: '请重新提交，或使用其他模型。' },
  task_cancelled: { message: '任务已取消。', hint: '无需处理。若仍需要结果，请重新提交。' },
}

const causes: Record<TaskCause, string> = {
  completed: '任务已完成。',
  queued: '任务在队列中等待空闲槽位，没有发现问题。',
  running: '任务正在进行，没有发现问题。',
  queue_full: '直到期限，都没有空闲槽位，或没有工作进程启动任务。',
  credential_refused: '供应商拒绝了我们的 API 密钥，任务无法提交。',
  breaker_open: '路由的熔断器已打开，因此没有调用供应商。',
  budget_spent: '供应商今日的预算已用完，目前没有其他路由可以接手。',
  provider_busy: '供应商没有容量，或限制了我们的速率。',
  provider_unreachable: '无法连接供应商。',
  provider_failed: '供应商未能生成结果。',
  moderated: '供应商因内容拒绝了提示词、图片或录音。',
  request_invalid: '供应商拒绝了请求中的参数或文件。',
  deadline: '供应商接受了任务，但未在期限内完成。',
  cancelled: '客户或运营人员取消了任务。',
  download_failed: '供应商已生成结果，但结果未能下载并保存。',
  unknown_outcome: '提交的响应丢失，无法确定供应商是否有此作业。为避免重复收费，任务不会自动重新提交。',
  engine_lost: 'Restate 丢失了任务的运行，或没有工作进程启动它。',
}

export const texts: typeof english = {
  errors,
  tasks,
  places: {
    queue: '失败时仍在等待空闲槽位。',
    submit: '供应商没有接受生成。',
    generate: '在生成过程中失败。',
    store: '生成后，在保存结果时失败。',
    transcribe: '在转写过程中失败。',
  },
  notices: {
    response_lost: '提交的响应丢失，无法确定视频是否正在生成。若一直没有消息，任务会在期限时失败，且不收费。',
  },
  causes,
}
