#include "harness/doctor/inputs.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "harness/base/fs.hpp"
#include "harness/doctor/recognize.hpp"
#include "harness/doctor/tar_stream.hpp"
#include "results/import/zip_entries.hpp"

namespace nb::doctor {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;
constexpr std::size_t kSmall = std::size_t{8} << 20;           // what is kept whole and recognised
constexpr std::size_t kMostKept = std::size_t{64} << 20;       // of all small texts together
constexpr std::uint64_t kMostRatio = 300;                      // unpacked / packed,
constexpr std::uint64_t kRatioFrom = std::uint64_t{64} << 20;  // of more than that
constexpr std::size_t kMostFiles = 100'000;
constexpr int kDeepest = 3;  // an archive in an archive in an archive

void append_utf8(std::string& text, std::uint32_t point) {
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | (point >> 6));
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0 | (point >> 12));
    text += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | (point >> 18));
    text += static_cast<char>(0x80 | ((point >> 12) & 0x3F));
    text += static_cast<char>(0x80 | ((point >> 6) & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
}

// A log where any of its first lines is one's: what is large is read for nothing else.
Kind kind_of_beginning(std::string bytes) {
  constexpr std::size_t kLooked = std::size_t{1} << 18;
  bytes.resize(std::min(bytes.size(), kLooked));
  for (const Section& section : recognize(decoded_text(std::move(bytes))))
    if (section.kind != Kind::kUnknown) return Kind::kLog;
  return Kind::kUnknown;
}

enum class Packing { kNone, kGzip, kZip, kTar };
Packing packing_of(std::string_view begin) {
  if (begin.starts_with("\x1f\x8b")) return Packing::kGzip;
  if (begin.starts_with("PK\x03\x04")) return Packing::kZip;
  return looks_like_tar(begin) ? Packing::kTar : Packing::kNone;
}

// gzip, unpacked piece by piece; several members one after another are one file.
class Unzip {
 public:
  Unzip() { is_open_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Unzip() {
    if (is_open_) inflateEnd(&stream_);
  }
  Unzip(const Unzip&) = delete;
  Unzip& operator=(const Unzip&) = delete;

  Result<void> feed(std::string_view bytes,
                    const std::function<Result<void>(std::string_view)>& to) {
    if (buffer_.empty()) buffer_.resize(kChunk);
    packed_ += bytes.size();
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    while (stream_.avail_in > 0 || stream_.avail_out == 0) {
      stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
      stream_.avail_out = static_cast<uInt>(buffer_.size());
      const int state = inflate(&stream_, Z_NO_FLUSH);
      if (state != Z_OK && state != Z_STREAM_END && state != Z_BUF_ERROR)
        return bad_input("the gzip data are damaged");
      const std::size_t count = buffer_.size() - stream_.avail_out;
      unpacked_ += count;
      if (unpacked_ > kRatioFrom && unpacked_ > kMostRatio * packed_)
        return bad_input(
            "it unpacks to more than 300 times its size; unpack it first if you trust it");
      if (count > 0) NB_TRY_VOID(to(std::string_view(buffer_.data(), count)));
      is_whole_ = state == Z_STREAM_END;
      if (is_whole_) inflateReset(&stream_);
      if (state == Z_BUF_ERROR || (count == 0 && stream_.avail_in == 0)) break;
    }
    return {};
  }
  bool is_whole() const { return is_whole_; }

 private:
  z_stream stream_{};
  bool is_open_ = false, is_whole_ = false;
  std::uint64_t packed_ = 0, unpacked_ = 0;
  std::string buffer_;
};

class Gatherer {
 public:
  explicit Gatherer(const std::function<void(const std::string&, std::uint64_t)>& progress)
      : progress_(progress) {}

  void add_path(const fs::path& path, bool is_named) {
    std::error_code error;
    if (fs::is_directory(path, error)) return add_folder(path);
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
      if (is_named) refuse(path, std::string("can't be read: ") + std::strerror(errno));
      return;
    }
    struct stat what {};
    const bool is_device =
        ::fstat(descriptor, &what) == 0 &&
        (S_ISBLK(what.st_mode) || (S_ISCHR(what.st_mode) && !isatty(descriptor)));
    if (is_device)
      refuse(path, "is a device, which may have no end; give a file");
    else
      add_stream(descriptor, path);
    ::close(descriptor);
  }

  void add_stream(int descriptor, const std::string& name) {
    std::string chunk(kChunk, '\0');
    Stream stream(*this, name, 0);
    std::uint64_t bytes = 0;
    for (;;) {
      const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return refuse(name, std::string("can't be read: ") + std::strerror(errno));
      if (got == 0) break;
      bytes += static_cast<std::uint64_t>(got);
      if (progress_) progress_(name, bytes);
      if (const auto fed =
              stream.feed(std::string_view(chunk.data(), static_cast<std::size_t>(got)));
          !fed)
        return refuse(name, fed.error().message);
      if (stream.is_zip()) return add_zip(name);
    }
    auto ended = stream.begin();  // of a file that is shorter than what tells its kind
    if (ended && stream.is_zip()) return add_zip(name);
    if (ended) ended = stream.end();
    if (!ended) refuse(name, ended.error().message);
  }

  void add_text(const std::string& name, std::string_view bytes) {
    Stream stream(*this, name, 0);
    auto done = stream.feed(bytes);
    if (done && !stream.is_zip()) done = stream.end();
    if (stream.is_zip()) return refuse(name, "a zip must be a file of its own");
    if (!done) refuse(name, done.error().message);
  }

  Inputs take() {
    inputs_.log = scan_.take();
    return std::move(inputs_);
  }

 private:
  // One file or one member of an archive.
  class Stream {
   public:
    Stream(Gatherer& gatherer, std::string name, int depth)
        : gatherer_(gatherer), name_(std::move(name)), depth_(depth) {}

    bool is_zip() const { return packing_ == Packing::kZip; }

    Result<void> feed(std::string_view bytes) {
      if (!is_begun_) {
        head_.append(bytes);
        if (head_.size() < 512) return {};
        bytes = head_;
        return begin_and_pass(bytes);
      }
      return pass(bytes);
    }

    Result<void> begin() { return is_begun_ ? Result<void>() : begin_and_pass(head_); }

    Result<void> end() {
      NB_TRY_VOID(begin());
      if (unzip_) {
        if (inner_) NB_TRY_VOID(inner_->end());
        if (!unzip_->is_whole())
          return bad_input("the gzip data are cut off; what there was has been read");
        return {};
      }
      if (tar_) return tar_->finish();
      if (is_zip()) return bad_input("a zip inside another file is not read; unpack it first");
      if (is_large_) {
        gatherer_.scan_.end();
        gatherer_.inputs_.streamed.push_back({name_, {std::string(name(kind_of_large_))}});
      } else {
        gatherer_.take_small(name_, std::move(small_));
      }
      return {};
    }

   private:
    Result<void> begin_and_pass(std::string_view bytes) {
      is_begun_ = true;
      packing_ = packing_of(bytes);
      if (packing_ != Packing::kNone && packing_ != Packing::kZip && depth_ >= kDeepest)
        return bad_input("archives are packed in archives more than three deep");
      if (packing_ == Packing::kGzip) {
        unzip_ = std::make_unique<Unzip>();
        inner_ = std::make_unique<Stream>(gatherer_, name_, depth_ + 1);
      }
      if (packing_ == Packing::kTar)
        tar_ = std::make_unique<TarStream>(TarEvents{
            [this](const std::string& member) {
              inner_ = std::make_unique<Stream>(gatherer_, name_ + ":" + member, depth_ + 1);
            },
            [this](std::string_view part) {
              if (inner_)
                if (const auto fed = inner_->feed(part); !fed) {
                  gatherer_.refuse(inner_->name_, fed.error().message);
                  inner_.reset();
                }
            },
            [this] {
              if (inner_)
                if (const auto ended = inner_->end(); !ended)
                  gatherer_.refuse(inner_->name_, ended.error().message);
              inner_.reset();
            }});
      return pass(bytes);
    }

    Result<void> pass(std::string_view bytes) {
      if (is_zip()) return {};
      if (unzip_)
        return unzip_->feed(bytes, [this](std::string_view part) { return inner_->feed(part); });
      if (tar_) return tar_->feed(bytes);
      if (!is_large_ && small_.size() + bytes.size() <= kSmall) {
        small_.append(bytes);
        return {};
      }
      if (!is_large_) {
        is_large_ = true;
        kind_of_large_ = kind_of_beginning(small_);
        gatherer_.scan_.begin(name_);
        gatherer_.scan_.feed(small_);
        small_ = std::string();
      }
      gatherer_.scan_.feed(bytes);
      return {};
    }

    Gatherer& gatherer_;
    std::string name_;
    int depth_;
    bool is_begun_ = false, is_large_ = false;
    Kind kind_of_large_ = Kind::kUnknown;
    Packing packing_ = Packing::kNone;
    std::string head_, small_;
    std::unique_ptr<Unzip> unzip_;
    std::unique_ptr<TarStream> tar_;
    std::unique_ptr<Stream> inner_;
  };

  void refuse(const std::string& name, const std::string& what) {
    inputs_.errors.push_back({ErrorCode::kRun, name + ": " + what});
  }

  void add_folder(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator
             at(folder, fs::directory_options::skip_permission_denied, error),
         end;
         !error && at != end && files.size() < kMostFiles; at.increment(error)) {
      std::error_code of_file;
      if (at->is_regular_file(of_file) && !at->is_symlink(of_file)) files.push_back(at->path());
    }
    if (error) refuse(folder, error.message());
    if (files.size() >= kMostFiles)
      refuse(folder, fmt::format("more than {} files; the others were not read", kMostFiles));
    std::sort(files.begin(), files.end());
    for (const fs::path& file : files) add_path(file, true);
    if (files.empty() && !error) inputs_.texts.push_back({folder, ""});
  }

  void add_zip(const std::string& name) {
    ZipLimits limits;
    limits.entry_bytes = std::uint64_t{128} << 20;
    auto zip = ZipReader::open(name, limits);
    if (!zip) {
      inputs_.errors.push_back({ErrorCode::kRun, zip.error().message});
      return;
    }
    for (const ZipEntry& entry : zip->entries()) {
      if (entry.name.ends_with("/")) continue;
      const auto text = zip->read(entry);
      if (!text) {
        inputs_.errors.push_back({ErrorCode::kRun, text.error().message});
        continue;
      }
      const std::string member = fmt::format("{}:{}", name, entry.name);
      Stream stream(*this, member, 1);
      auto done = stream.feed(*text);
      if (done) done = stream.end();
      if (!done) refuse(member, done.error().message);
    }
  }

  // Whole and recognised: its logs are read here, the other parts are handed on.
  void take_small(const std::string& name, std::string bytes) {
    std::string text = decoded_text(std::move(bytes));
    scan_.begin(name);
    bool has_more = false;
    int at_line = 1;
    for (const Section& section : recognize(text)) {
      if (section.kind != Kind::kLog && section.kind != Kind::kUnknown) {
        has_more = true;
        if (section.kind == Kind::kScript) scan_.feed(fenced_logs(section.text));
        continue;
      }
      if (section.first_line > at_line)
        scan_.feed(std::string(static_cast<std::size_t>(section.first_line - at_line), '\n'));
      at_line = section.first_line +
                static_cast<int>(std::count(section.text.begin(), section.text.end(), '\n'));
      scan_.feed(section.text);
    }
    scan_.end();
    kept_ += text.size();
    // What is a log alone is not needed again; what it is called is.
    constexpr std::size_t kShown = 16384;
    if (!has_more && text.size() > kShown) text.resize(kShown);
    if (kept_ > kMostKept && text.size() > kShown)
      return inputs_.streamed.push_back(
          {name, {std::string(doctor::name(kind_of_beginning(std::move(text))))}});
    inputs_.texts.push_back({name, std::move(text)});
  }

  const std::function<void(const std::string&, std::uint64_t)>& progress_;
  LogScan scan_;
  std::size_t kept_ = 0;
  Inputs inputs_;
};

}  // namespace

std::string decoded_text(std::string bytes) {
  const WideText wide = wide_of(bytes);
  if (wide.unit == Wide::kNo) return bytes;
  const bool is_little = wide.unit == Wide::kLittle;
  std::string text;
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]),
               second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<std::uint32_t>(is_little ? first | second << 8 : first << 8 | second);
  };
  for (std::size_t at = wide.mark; at + 1 < bytes.size(); at += 2) {
    std::uint32_t point = unit(at);
    if (point >= 0xD800 && point < 0xDC00 && at + 3 < bytes.size()) {
      const std::uint32_t low = unit(at + 2);
      if (low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        at += 2;
      }
    }
    append_utf8(text, point >= 0xD800 && point < 0xE000 ? 0xFFFD : point);
  }
  return text;
}

Inputs read_inputs(const std::vector<std::string>& paths,
                   const std::function<void(const std::string&, std::uint64_t)>& progress) {
  Gatherer gatherer(progress);
  for (const std::string& path : paths)
    if (path == "-")
      gatherer.add_stream(STDIN_FILENO, "-");
    else
      gatherer.add_path(path, true);
  return gatherer.take();
}

Findings examine(const Inputs& inputs, const Facts& given) {
  Findings findings = examine(inputs.texts, given, inputs.log);
  findings.recognized.insert(findings.recognized.end(), inputs.streamed.begin(),
                             inputs.streamed.end());
  return findings;
}

Inputs read_text_input(const std::string& name, std::string_view bytes) {
  const std::function<void(const std::string&, std::uint64_t)> none;
  Gatherer gatherer(none);
  gatherer.add_text(name, bytes);
  return gatherer.take();
}

}  // namespace nb::doctor
