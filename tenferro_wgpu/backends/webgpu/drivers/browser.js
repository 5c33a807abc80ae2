// The JavaScript half of the browser driver: objects by number, and one call per batch of commands.
//
// drivers/browser.py evaluates this file in Pyodide and is the only caller. A call from Python into
// JavaScript costs microseconds per argument, so a batch arrives as one typed array of numbers, bulk
// data is copied through views of Python's memory, and everything that WebGPU answers later (errors,
// finished work, mapped buffers) is one promise per wait.
(() => {
  const STORAGE_USAGE = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const STAGING_USAGE = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
  const PARAMS_USAGE = GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST;

  // Numbers per command: pipeline, bind group, workgroups x y z, bytes of params.
  const WORDS_PER_COMMAND = 6;

  // Idle staging buffers kept for the next read, and the size above which none is kept.
  const IDLE_STAGING_LIMIT = 4;
  const IDLE_STAGING_BYTES = 16 * 1024 * 1024;

  const alignUp = (value, alignment) => Math.ceil(value / alignment) * alignment;

  async function open(powerPreference, wantedFeatures, raiseLimits) {
    if (!globalThis.navigator?.gpu) return { reason: 'this page has no navigator.gpu' };
    const adapter = await navigator.gpu.requestAdapter({ powerPreference });
    if (!adapter) return { reason: 'the browser offers no WebGPU adapter' };
    const requiredLimits = {};
    if (raiseLimits) {
      for (const name of ['maxBufferSize', 'maxStorageBufferBindingSize']) {
        requiredLimits[name] = adapter.limits[name];
      }
    }
    const requiredFeatures = [...wantedFeatures].filter((name) => adapter.features.has(name));
    const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
    return { device: new Device(adapter, device) };
  }

  class Device {
    constructor(adapter, device) {
      this.adapter = adapter;
      this.device = device;
      this.queue = device.queue;
      this.lost = null;
      this.nextNumber = 1; // numbers are never reused, so a stale one is an error, not a mix-up
      this.buffers = new Map();
      this.pipelines = new Map();
      this.groups = new Map();
      this.layouts = new Map();
      this.idleStaging = [];
      this.mapped = new Map();
      this.pending = new Set(); // promises of error scopes that are not answered yet
      this.problems = [];
      this.batch = 0;
      this.paramsLayout = device.createBindGroupLayout({
        entries: [{
          binding: 0,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: 'uniform', hasDynamicOffset: true },
        }],
      });
      this.paramsBindingSize = 0;
      this.paramsCapacity = 0;
      device.lost.then((info) => { this.lost = `${info.reason}: ${info.message}`; });
    }

    describe() {
      const info = this.adapter.info ?? {};
      const limits = {};
      for (const name in this.device.limits) limits[name] = this.device.limits[name];
      return JSON.stringify({
        vendor: info.vendor ?? '',
        architecture: info.architecture ?? '',
        description: info.description ?? '',
        fallback: Boolean(info.isFallbackAdapter ?? this.adapter.isFallbackAdapter),
        features: [...this.device.features],
        limits,
      });
    }

    // Remembers the answer of an error scope; `explain` turns an error into a problem record.
    watch(scope, explain) {
      const answered = scope
        .then((error) => (error ? explain(error) : null), () => null) // rejected: the device is lost
        .then((problem) => {
          if (problem) this.problems.push(problem);
          this.pending.delete(answered);
        });
      this.pending.add(answered);
    }

    createBuffer(size) {
      const number = this.nextNumber++;
      this.device.pushErrorScope('out-of-memory');
      this.device.pushErrorScope('validation');
      this.buffers.set(number, this.device.createBuffer({ size, usage: STORAGE_USAGE }));
      for (const _ of ['validation', 'out-of-memory']) {
        this.watch(this.device.popErrorScope(),
          (error) => ({ kind: 'memory', order: number, size, message: error.message }));
      }
      return number;
    }

    destroyBuffers(numbers) {
      for (const number of numbers) {
        this.buffers.get(number)?.destroy();
        this.buffers.delete(number);
      }
    }

    forget(groups, pipelines) {
      for (const number of groups) this.groups.delete(number);
      for (const number of pipelines) this.pipelines.delete(number);
    }

    bindingLayout(bindings) {
      let layout = this.layouts.get(bindings);
      if (!layout) {
        const entries = bindings.split(',').filter(Boolean).map((access, binding) => ({
          binding,
          visibility: GPUShaderStage.COMPUTE,
          buffer: { type: access === 'read' ? 'read-only-storage' : 'storage' },
        }));
        layout = this.device.createBindGroupLayout({ entries });
        this.layouts.set(bindings, layout);
      }
      return layout;
    }

    createPipeline(code, bindings, hasParams, label) {
      const number = this.nextNumber++;
      const layout = this.bindingLayout(bindings);
      this.device.pushErrorScope('validation');
      const module = this.device.createShaderModule({ code, label });
      const bindGroupLayouts = hasParams ? [layout, this.paramsLayout] : [layout];
      const pipeline = this.device.createComputePipeline({
        label,
        layout: this.device.createPipelineLayout({ bindGroupLayouts }),
        compute: { module, entryPoint: 'main' },
      });
      this.pipelines.set(number, { pipeline, layout });
      this.watch(this.device.popErrorScope(), async (error) => {
        const { messages } = await module.getCompilationInfo();
        const first = messages.find((message) => message.type === 'error');
        return {
          kind: 'shader',
          order: number,
          number,
          line: first?.lineNum ?? 0,
          message: first?.message ?? error.message,
        };
      });
      return number;
    }

    createBindGroup(pipelineNumber, bufferNumbers, sizes) {
      const number = this.nextNumber++;
      const { layout } = this.pipelines.get(pipelineNumber);
      const entries = [...bufferNumbers].map((buffer, binding) => ({
        binding,
        resource: { buffer: this.buffers.get(buffer), size: sizes[binding] },
      }));
      this.device.pushErrorScope('validation');
      this.groups.set(number, this.device.createBindGroup({ layout, entries }));
      this.watch(this.device.popErrorScope(),
        (error) => ({ kind: 'bindings', order: number, message: error.message }));
      return number;
    }

    // `view` is a Python buffer. WebGPU writes multiples of 4 bytes, so a ragged tail is padded.
    writeBuffer(number, offset, view) {
      const buffer = this.buffers.get(number);
      const source = view.getBuffer('u8');
      try {
        const bytes = source.data;
        const whole = bytes.length & ~3;
        if (whole > 0) this.queue.writeBuffer(buffer, offset, bytes, 0, whole);
        if (whole < bytes.length) {
          const tail = new Uint8Array(4);
          tail.set(bytes.subarray(whole));
          this.queue.writeBuffer(buffer, offset + whole, tail);
        }
      } finally {
        source.release();
      }
    }

    // Params of a whole batch go into one uniform buffer, each at its dynamic offset, in one write.
    // That write is ordered after the previous submit, so one buffer serves every batch.
    placeParams(words, params) {
      const alignment = this.device.limits.minUniformBufferOffsetAlignment;
      let largest = this.paramsBindingSize;
      let total = 0;
      for (let at = 5; at < words.length; at += WORDS_PER_COMMAND) {
        largest = Math.max(largest, alignUp(words[at], alignment));
        total += alignUp(words[at], alignment);
      }
      if (total === 0) return [];
      const capacity = total + largest; // a binding may reach past the last block
      if (capacity > this.paramsCapacity || largest > this.paramsBindingSize) {
        this.paramsBuffer?.destroy();
        this.paramsCapacity = Math.max(capacity, 2 * this.paramsCapacity, 64 * alignment);
        this.paramsBindingSize = largest;
        this.paramsBytes = new Uint8Array(this.paramsCapacity);
        this.paramsBuffer =
          this.device.createBuffer({ size: this.paramsCapacity, usage: PARAMS_USAGE });
        this.paramsGroup = this.device.createBindGroup({
          layout: this.paramsLayout,
          entries: [{ binding: 0, resource: { buffer: this.paramsBuffer, size: largest } }],
        });
      }
      const offsets = [];
      let source = 0;
      let target = 0;
      for (let at = 5; at < words.length; at += WORDS_PER_COMMAND) {
        const size = words[at];
        offsets.push(target);
        this.paramsBytes.set(params.subarray(source, source + size), target);
        source += size;
        target += alignUp(size, alignment);
      }
      this.queue.writeBuffer(this.paramsBuffer, 0, this.paramsBytes, 0, target);
      return offsets;
    }

    // One compute pass over the commands `first` up to `last`, as a command buffer.
    encode(words, offsets, first, last) {
      const encoder = this.device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      let bound = 0;
      for (let index = first; index < last; index++) {
        const at = index * WORDS_PER_COMMAND;
        if (words[at] !== bound) {
          bound = words[at];
          pass.setPipeline(this.pipelines.get(bound).pipeline);
        }
        pass.setBindGroup(0, this.groups.get(words[at + 1]));
        if (words[at + 5] > 0) pass.setBindGroup(1, this.paramsGroup, [offsets[index]]);
        pass.dispatchWorkgroups(words[at + 2], words[at + 3], words[at + 4]);
      }
      pass.end();
      return encoder.finish();
    }

    // Returns the number of this batch, or -1 when the device is lost.
    submit(words, params, released) {
      if (this.lost) return -1;
      const batch = ++this.batch;
      this.device.pushErrorScope('out-of-memory');
      this.device.pushErrorScope('validation');
      const offsets = this.placeParams(words, params);
      this.queue.submit([this.encode(words, offsets, 0, words.length / WORDS_PER_COMMAND)]);
      this.watch(this.device.popErrorScope(), async (error) => {
        const { command, message } = await this.findInvalid(words, offsets);
        return {
          kind: 'batch', order: this.nextNumber, batch, command, message: message || error.message,
        };
      });
      this.watch(this.device.popErrorScope(),
        (error) => ({ kind: 'memory', order: this.nextNumber, size: 0, message: error.message }));
      if (released) this.destroyBuffers(released);
      return batch;
    }

    // The first command of a refused batch that is invalid on its own: each is encoded, not run.
    async findInvalid(words, offsets) {
      for (let index = 0; index < words.length / WORDS_PER_COMMAND; index++) {
        this.device.pushErrorScope('validation');
        let message = '';
        try {
          this.encode(words, offsets, index, index + 1);
        } catch (error) {
          message = String(error); // an object that was forgotten since
        }
        const error = await this.device.popErrorScope();
        if (error || message) return { command: index, message: error?.message ?? message };
      }
      return { command: -1, message: '' };
    }

    // Resolves when every error scope opened so far is answered.
    async settle() {
      while (this.pending.size > 0) await Promise.allSettled([...this.pending]);
    }

    async finish() {
      await this.queue.onSubmittedWorkDone();
      await this.settle();
    }

    // The problems found since the last call, in the order of the objects they speak of, as JSON.
    takeProblems() {
      if (this.problems.length === 0) return '';
      const found = this.problems.sort((left, right) => left.order - right.order);
      this.problems = [];
      return JSON.stringify(found);
    }

    lostReason() {
      return this.lost ?? '';
    }

    takeStaging(size) {
      const at = this.idleStaging.findIndex((buffer) => buffer.size === size);
      if (at >= 0) return this.idleStaging.splice(at, 1)[0];
      return this.device.createBuffer({ size, usage: STAGING_USAGE });
    }

    // Resolves to the number that finishRead wants, once the bytes are in mapped memory.
    async startRead(number, offset, byteCount) {
      const skip = offset & 3;
      const size = alignUp(skip + byteCount, 4);
      const staging = this.takeStaging(Math.max(256, 2 ** Math.ceil(Math.log2(size))));
      const token = this.nextNumber++;
      this.device.pushErrorScope('validation');
      const encoder = this.device.createCommandEncoder();
      encoder.copyBufferToBuffer(this.buffers.get(number), offset - skip, staging, 0, size);
      this.queue.submit([encoder.finish()]);
      this.watch(this.device.popErrorScope(),
        (error) => ({ kind: 'read', order: token, message: error.message }));
      try {
        await staging.mapAsync(GPUMapMode.READ, 0, size);
      } catch (error) {
        staging.destroy();
        await this.settle();
        if (!this.lost && this.problems.length === 0) throw error;
        return 0; // Python asks why: the device is lost or a problem is recorded
      }
      await this.settle();
      this.mapped.set(token, { staging, skip, size, byteCount });
      return token;
    }

    finishRead(token, view) {
      const { staging, skip, size, byteCount } = this.mapped.get(token);
      const target = view.getBuffer('u8');
      try {
        target.data.set(new Uint8Array(staging.getMappedRange(0, size), skip, byteCount));
      } finally {
        target.release();
        this.dropRead(token);
      }
    }

    dropRead(token) {
      const { staging } = this.mapped.get(token);
      this.mapped.delete(token);
      staging.unmap();
      if (this.idleStaging.length < IDLE_STAGING_LIMIT && staging.size <= IDLE_STAGING_BYTES) {
        this.idleStaging.push(staging);
      } else {
        staging.destroy();
      }
    }

    destroy() {
      this.device.destroy();
      for (const table of [this.buffers, this.pipelines, this.groups, this.mapped]) table.clear();
    }
  }

  return { open };
})()
