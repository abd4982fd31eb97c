import type { texts as english } from './texts.en.ts'

export const texts: typeof english = {
  checked: '检查于',
  tiles: {
    label: '当前状况',
    running: {
      label: '运行中',
      slots: (slots) => `/ ${slots} 个槽位`,
      free: (free) => `空闲 ${free} 个`,
      full: '槽位已占满',
      bar: (running, slots) => `${slots} 个槽位中已占用 ${running} 个`,
    },
    queued: { label: '排队中', oldest: (wait) => `最久已等待 ${wait}`, none: '没有任务在等待' },
    time: {
      label: '出片时间',
      p95: (p95) => `p95 ${p95}，最近 1 小时`,
      none: '最近 1 小时没有视频',
      picture: '最近 24 小时的中位数',
    },
    errors: {
      label: '错误率',
      of: (failed, ended) => `最近 1 小时 ${ended} 个中失败 ${failed} 个`,
      none: '最近 1 小时没有结束的任务',
      picture: (failed) => `最近 24 小时有 ${failed} 个视频失败`,
    },
    spend: {
      label: '今日支出',
      charged: (amount) => `已收费 ${amount}`,
      budget: (charged, budget) => `${charged}，预算 ${budget}`,
      unknown: (charged, count) => `${charged}，${count} 笔成本未知`,
      bar: '每日预算已用部分',
      help: '本 UTC 日供应商的成本。',
    },
    storage: { label: '存储', objects: (_count, shown) => `${shown} 个媒体文件`, none: '尚未统计' },
  },
  chart: {
    title: '出片时间',
    note: '从请求到视频存储完成',
    median: '中位数',
    band: '至 p95',
    period: '时段',
    periods: { '1h': '1 小时', '6h': '6 小时', '24h': '24 小时' },
    showTable: '表格',
    showChart: '图表',
    summary: (videos, median, p95) =>
      `此时段完成 ${videos} 个视频。最近有视频的一段：中位数 ${median}，p95 ${p95}。`,
    noVideos: '此时段没有完成的视频。',
    now: '现在',
    reader: '正在查看的五分钟',
    reading: (time, median, p95, videos) => `${time}：中位数 ${median}，p95 ${p95}，完成 ${videos} 个`,
    readingNone: (time) => `${time}：没有完成的视频`,
    columns: { time: '起始', median: '中位数', p95: 'p95', completed: '完成', failed: '失败' },
  },
  attention: {
    title: '需要处理',
    none: '一切正常，无需处理。',
    noneDetail: '系统会持续检查供应商、队列、资金、密钥和存储。',
    severities: { page: '立即处理', ticket: '今日处理', notice: '请知悉' },
    since: '始于',
    runbook: '处理手册',
    runbookFor: (title) => `处理手册：${title}`,
    more: (count) => `再显示 ${count} 项`,
    open: {
      provider: '供应商',
      model: '模型',
      key: '密钥',
      task: '任务',
      tasks: '任务',
      account: '账户的密钥',
    },
  },
  providers: {
    title: '供应商',
    note: '最近 60 分钟，每格一分钟',
    columns: { provider: '供应商', health: '健康状况', load: '运行与排队', success: '成功率', p95: 'p95' },
    breaker: { closed: '可接收新任务', half_open: '熔断器半开', open: '熔断器已打开' },
    disabled: '已停用',
    load: (running, slots, queued) => `运行 ${running} / ${slots}，排队 ${queued}`,
    loadBar: (name) => `${name} 已占用的槽位`,
    empty: '还没有供应商。',
    emptyDetail: '添加一个供应商，模型才能运行。',
    add: '添加供应商',
  },
  attentionTexts: {
    provider_unusable: (name) => ({
      title: `${name} 无法使用`,
      text: '其配置无效，请在供应商页面更正。',
    }),
    provider_credential_refused: (name) => ({
      title: `${name} 拒绝了 API 密钥`,
      text: '请更换该供应商的密钥并测试。',
    }),
    provider_breaker_open: (name, count) => ({
      title: `对 ${name} 的调用失败`,
      text: `${count} 个模型的熔断器已打开。其他路由会接手；没有其他路由时，任务会等待。`,
    }),
    provider_budget_spent: (name) => ({
      title: `${name} 的预算已用完`,
      text: '请提高预算，或让其他路由接手。',
    }),
    provider_budget_alert: (name) => ({
      title: `${name} 的预算即将用完`,
      text: '今日已结束和进行中的任务已接近每日预算。',
    }),
    task_waiting_long: (name) => ({
      title: name === '' ? '有任务等待过久' : `${name} 的任务等待过久`,
      text: '请检查槽位、熔断器和工作进程。',
    }),
    tasks_past_deadline: (_name, count) => ({
      title: `${count} 个任务超过期限仍未结束`,
      text: '其资金仍被冻结。请检查工作进程和引擎。',
    }),
    polls_overdue: (_name, count) => ({
      title: `${count} 个作业未按时轮询`,
      text: '完成的视频会延迟发现。请检查工作进程和引擎。',
    }),
    submits_unknown: (_name, count) => ({
      title: `${count} 次提交结果未知`,
      text: '供应商处可能有无人轮询的作业。请先在供应商处核实，再处理任务。',
    }),
    holds_too_old: () => ({
      title: '有资金冻结过久',
      text: '客户无法使用这笔资金。请找到对应的任务或请求并结束它。',
    }),
    webhook_deliveries_failed: (_name, count) => ({
      title: `${count} 个 Webhook 未送达`,
      text: '最近 24 小时的尝试均失败。客户可以重新请求发送。',
    }),
    webhook_endpoint_failing: (_name, count) => ({
      title: `${count} 个 Webhook 端点持续失败`,
      text: '最近一小时的尝试均失败。客户的服务器恢复之前，客户会错过事件。',
    }),
    webhook_endpoint_disabled: (_name, count) => ({
      title: `${count} 个 Webhook 端点已停用`,
      text: '它们连续数日失败或已不存在。请通知客户，客户可重新启用。',
    }),
    key_expires: (_name, count) => ({
      title: `${count} 个密钥即将到期`,
      text: '请延长有效期，或创建新的密钥。',
    }),
    model_shut_down: (name) => ({ title: `${name} 已下线`, text: '对它的请求会被拒绝。' }),
    model_shuts_down: (name) => ({ title: `${name} 即将下线`, text: '届时对它的请求会被拒绝。' }),
    ledger_violation: (_name, count) => ({
      title: '账本违反了约束',
      text: `最近一次审计发现 ${count} 处问题。查明原因之前，请勿更正余额。`,
    }),
    ledger_audit_late: () => ({ title: '账本没有按时审计', text: '请检查工作进程。' }),
    worker_not_seen: () => ({
      title: '没有发现工作进程',
      text: '一分钟内没有工作进程连接引擎，任务不会推进。请启动工作进程并检查 Restate。',
    }),
    removals_waiting: (_name, count) => ({
      title: `${count} 项删除尚未完成`,
      text: '已删除的媒体可能仍在存储中。',
    }),
    disk_low: () => ({ title: '磁盘空间不足', text: '空间不足时，上传会被拒绝，结果无法保存。' }),
    media_store_problem: () => ({ title: '媒体存储有问题', text: '请查看处理手册。' }),
  },
}
